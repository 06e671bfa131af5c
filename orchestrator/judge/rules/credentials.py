"""Tokens and private keys that a change would carry into the repository, known by their makers' marks."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, group_by_path
from orchestrator.judge.files.classification import is_example_content
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.redact.token_patterns import TOKEN_RULES

_ADVICE = ": take it out, and read it from the environment in its place"
_UNMARKED_KINDS = frozenset({"jwt", "authorization", "url-password"})
"""Kinds without a maker's mark: what looks like one may well be a sample."""


class _Token(NamedTuple):
    """A token in an added line; `text` is never told."""

    kind: str
    line: int
    text: str


def check_credentials(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each token in added lines that no changed file held before; it blocks outside of samples."""
    for path, lines in group_by_path(facts.lines).items():
        found = dict.fromkeys((token.kind, token.line) for token in _find_tokens(lines) if _is_new(token, facts.files))
        for kind, number in found:
            is_certain = kind not in _UNMARKED_KINDS and not is_example_content(path)
            text = f"{path}:{number} holds what looks like a {kind}"
            yield facts.build_finding(RuleId.CREDENTIAL, text, path, number, advice=_ADVICE, is_severe=is_certain)


def _is_new(token: _Token, files: Sequence[ChangedFile]) -> bool:
    """Return False if a changed file held the token on the base already: then it was moved."""
    content = token.text.encode()
    return not any(content in file.before for file in files if file.before)


def _find_tokens(lines: Sequence[AddedLine]) -> Iterator[_Token]:
    text = "\n".join(line.text for line in lines)
    taken: list[tuple[int, int]] = []
    for rule in TOKEN_RULES:
        for start, end in rule.find_spans(text):
            if not any(start < other_end and other_start < end for other_start, other_end in taken):
                taken.append((start, end))
                yield _Token(rule.kind, lines[text.count("\n", 0, start)].number, text[start:end])
