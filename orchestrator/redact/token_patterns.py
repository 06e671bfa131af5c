"""Patterns of tokens, in the manner of gitleaks: by the marks that their makers gave them, never by chance alone."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

REDACTION_MARK = re.compile(r"\[redacted:[A-Za-z0-9_.-]{1,80}\]")
"""What stands for something that was taken out."""
_UNUSUAL = re.compile(r"[^A-Za-z0-9_.-]")
_BODY = r"(?:(?!-----)[\s\S]){0,16384}?"
_KEY_ENDS = r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z|(?=\[\.\.\. ))"
_PLACEHOLDER = re.compile(
    r"your|example|changeme|placeholder|dummy|fake|sample|x{4}|0{6}|1234567|abcdefg", re.IGNORECASE
)


def format_mark(kind: str) -> str:
    """Format the mark that stands for a secret of a kind."""
    return f"[redacted:{_UNUSUAL.sub('-', kind)[:80]}]"


def has_mark(text: str) -> bool:
    """Return True if something was taken out of a text."""
    return REDACTION_MARK.search(text) is not None


@dataclass(frozen=True)
class TokenRule:
    """One kind of token. The group `secret` of the pattern, or else all of it, is what is taken out.

    Every token begins with one of the words in `near`, so that the pattern is tried there alone, and a text without
    them costs next to nothing; without such words it is tried everywhere. `is_real` tells tokens from words that only
    stand where one belongs.
    """

    kind: str
    near: tuple[str, ...]
    written: str
    is_real: Callable[[str], bool]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled at first use, which for most rules never comes."""
        return re.compile(self.written)

    def redact_tokens(self, text: str) -> str:
        """Return the text without such tokens."""
        if not self.near:
            return self.pattern.sub(lambda found: format_mark(self.kind) if found[0] else "", text)
        for word in self.near:
            if word in text:
                text = self._remove_span(text, word)
        return text

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where such tokens stand in a text: from and to."""
        if not self.near:
            for found in self.pattern.finditer(text):
                if found[0]:
                    yield found.span()
        for word in self.near:
            yield from self._spans_at(text, word)

    def _remove_span(self, text: str, word: str) -> str:
        kept, done = [], 0
        for start, end in self._spans_at(text, word):
            kept += [text[done:start], format_mark(self.kind)]
            done = end
        return "".join((*kept, text[done:])) if kept else text

    def _spans_at(self, text: str, word: str) -> Iterator[tuple[int, int]]:
        at, done = text.find(word), 0
        while at >= 0:
            span = self._find_span(text, at)
            if span:
                yield span
                done = span[1]
            at = text.find(word, max(done, at + 1))

    def _find_span(self, text: str, at: int) -> tuple[int, int] | None:
        found = self.pattern.match(text, at)
        if found is None:
            return None
        secret = "secret" if "secret" in self.pattern.groupindex else 0
        return found.span(secret) if self.is_real(found[secret]) else None


def build_user_rule(pattern: str) -> TokenRule:
    """Build a rule of the user's own.

    Raises:
        re.error: it is no regular expression.
    """
    return TokenRule("own-pattern", (), re.compile(pattern).pattern, bool)


def _is_chance(word: str) -> bool:
    """Return True if letters and digits stand in it side by side, as nobody writes them who means a word."""
    return bool(re.search(r"\d", word) and re.search(r"[A-Za-z]", word)) and not _PLACEHOLDER.search(word)


def _is_no_sample(token: str) -> bool:
    """Return True if it is not the kind of token that documentation shows."""
    return not token.endswith("EXAMPLE") and len(set(token[-16:])) > 6


def _build_rule(kind: str, near: str, pattern: str, is_real: Callable[[str], bool] = _is_no_sample) -> TokenRule:
    return TokenRule(kind, tuple(near.split()), pattern, is_real)


TOKEN_RULES = (
    _build_rule(
        "private-key",
        "-----BEGIN",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?=(?:(?!-----)[\s\S]){{0,300}}?[A-Za-z0-9+/]{{40}}){_BODY}{_KEY_ENDS}",
        lambda _: True,
    ),
    _build_rule("aws-access-key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    _build_rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    _build_rule("github-token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    _build_rule(
        "gitlab-token",
        "glpat- glptt- glrt- gldt- glcbt- glft- glimt- glagent- gloas- glsoat-",
        r"\bgl(?:pat|ptt|rt|dt|cbt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{20,300}",
    ),
    _build_rule("slack-token", "xox", r"\bxox[abeoprs]-(?:\d+-)?[0-9]{6,14}-[0-9A-Za-z-]{10,200}"),
    _build_rule(
        "slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?P<secret>services/T\w{6,12}/B\w{6,12}/\w{20,30})"
    ),
    _build_rule("npm-token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _build_rule("pypi-token", "pypi-AgE", r"\bpypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,1000}"),
    _build_rule("anthropic-key", "sk-ant-", r"\bsk-ant-[a-z]{2,10}\d{2}-[A-Za-z0-9_-]{32,200}"),
    _build_rule("openrouter-key", "sk-or-v1-", r"\bsk-or-v1-[0-9a-f]{64}\b"),
    _build_rule("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,300}"),
    _build_rule("openai-key", "sk-", r"\bsk-(?:[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48})\b", _is_chance),
    _build_rule("google-key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _build_rule("google-secret", "GOCSPX-", r"\bGOCSPX-[0-9A-Za-z_-]{28}(?![0-9A-Za-z_-])"),
    _build_rule("google-token", "ya29.", r"\bya29\.[0-9A-Za-z_-]{30,2000}"),
    _build_rule("stripe-key", "sk_live_ rk_live_", r"\b[sr]k_live_[A-Za-z0-9]{24,200}\b"),
    _build_rule("huggingface-token", "hf_", r"\bhf_[A-Za-z]{34}\b"),
    _build_rule("groq-key", "gsk_", r"\bgsk_[A-Za-z0-9]{52}\b"),
    _build_rule("xai-key", "xai-", r"\bxai-[A-Za-z0-9]{80}\b"),
    _build_rule("sendgrid-key", "SG.", r"\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _build_rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    _build_rule(
        "jwt", "eyJ", r"\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,2000}", lambda _: True
    ),
    _build_rule(
        "authorization",
        "uthorization",
        r"uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?i:bearer|basic|token)\s{1,4}"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{16,8000})",
        _is_chance,
    ),
    _build_rule(
        "url-password",
        "://",
        r"://[^\s/:@?#'\"<>{}$\[\]\\`]{0,200}:"
        r"(?P<secret>[^\s/:@?#'\"<>{}$\[\]\\`]{8,500})@(?=[A-Za-z0-9\[])",
        _is_chance,
    ),
    _build_rule(
        "url-token",
        "? & # \\u0026",
        r"(?:[?&#](?:amp;)?|\\u0026)(?i:token|secret|password|passwd|pwd|sig|signature|x-(?:amz|goog)-signature"
        r"|(?:access|api|auth|account|shared|subscription)[_-]?key|(?:client|app|api)[_-]?secret"
        r"|(?:access|api|auth|bearer|id|job|oauth|private|refresh|x-amz-security|session|user)[_-]?token)="
        r"(?P<secret>[A-Za-z0-9._~+/%=-]{12,2000})",
        _is_chance,
    ),
    _build_rule("url-password", "://", r"://(?P<secret>[A-Za-z0-9_-]{20,500})@(?=[A-Za-z0-9\[])", _is_chance),
)
"""In this order: what is more telling goes first."""
