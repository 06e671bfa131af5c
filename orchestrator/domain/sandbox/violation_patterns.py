"""Patterns of commands that break the sandbox policy by their words: a table of recognisers, kept narrow.

Words prove nothing: a command may do otherwise than it reads, and none of this stops it. It is for the report, where
a false alarm costs trust. So `env FOO=1 make`, `git remote -v`, `curl http://localhost:8000` or `grep -r "curl" docs`
are no intentions.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from orchestrator.domain.paths.credentials import CREDENTIAL_PATHS
from orchestrator.domain.sandbox.shell_parser import SimpleCommand, split_shell_commands
from orchestrator.domain.text.lazy_pattern import compile_lazily

ViolationKind = Literal["credentials", "environment", "network", "push", "tier", "walls", "outside-path"]
QuotedViolation = tuple[ViolationKind, str]

_HOME = r"(?:~\w*|\$HOME|\$\{HOME\}|/root|/home/[\w.-]+|/Users/[\w.-]+)"
_CONFIGS = r"\.config/(?:gh|gcloud|git|hub|op|rclone|containers|pip|npm)"
_PLACES = "|".join(re.escape(place) for place in CREDENTIAL_PATHS if place != ".config")
_CREDENTIALS = compile_lazily(
    rf"{_HOME}[\"']?/(?:{_PLACES}|{_CONFIGS})(?![\w.-])"
    r"|(?<![\w.-])\.ssh/(?:id_|authorized_keys|config\b)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)"
    r"|/etc/(?:g?shadow|sudoers)\b|expanduser\([\"']~[\"']\).{0,40}\.(?:ssh|aws|netrc|gnupg)"
)
_ENVIRON = compile_lazily(r"/proc/(?:self|thread-self|\d+|\*|\$\$|\$\w+|\$\{\w+\}|\[[^\]]*\]\*?)/environ\b")
_DUMPED = compile_lazily(
    r"(?:print|dumps|pprint|repr|str|list|sorted|dict)\(\s*(?:dict\()?os\.environ(?:\.items\(\))?\s*[,)]"
)
_SECRET_NAME = r"[A-Z0-9_]*(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)[A-Z0-9_]*"
_SECRET = compile_lazily(rf"\$\{{?({_SECRET_NAME})")
_SOCKET = compile_lazily(
    r"\bsocket\.(?:socket|create_connection)\(|\burlopen\(|\burlretrieve\(|\.connect\(\("
    r"|\b(?:requests|httpx|urllib3)\.(?:get|post|put|request|Client|Session)\(|\bhttp\.client\.HTTPS?Connection\("
    r"|\b(?:net|http|https|tls)\.(?:connect|get|request)\(|\bfetch\([\"']https?:"
)
_DEVICE = compile_lazily(r"[<>]\s*/dev/(?:tcp|udp)/")
_LOCAL = compile_lazily(r"(?:localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0)(?=[:/\s\"',)]|$)")
_METADATA = compile_lazily(r"169\.254\.169\.254|metadata\.google\.internal")
_REMOTE = compile_lazily(r"://|\w@[\w.-]+:")
_WALLS = compile_lazily(
    r"/proc/sys/kernel/|/proc/sysrq-trigger|docker\.sock|/sys/fs/cgroup/\S*release_agent|/proc/1/root"
)
_WRITES_OUT = compile_lazily(r"(?:>>?|\btee(?:\s+-a)?)\s*[\"']?/(?:etc|usr|boot|lib|bin|sbin)/[\w./-]+")
_ONLY_ASKS = compile_lazily(r"\s*(?:--?(?:version|help)|-[hV])\s*")
_INTERPRETERS = frozenset({"python", "python3", "node", "perl", "ruby", "php", "deno", "bun"})
_EXCERPT = 200


def find_command_violations(command: str) -> tuple[QuotedViolation, ...]:
    """Return the violations that a command line shows: each kind at most once, with the words that show it."""
    violations: dict[ViolationKind, str] = {}
    assigned = frozenset(re.findall(r"\b([A-Z_0-9]+)=", command))
    for part in split_shell_commands(command):
        for kind in _find_kinds(part, assigned):
            violations.setdefault(kind, part.text[:_EXCERPT])
    return tuple(violations.items())


def find_path_violation(path: str, repository: str) -> ViolationKind | None:
    """Return the kind of violation that a file tool's path shows; None for an ordinary path.

    An absolute path into the user's own checkout `repository` is only clumsy.
    """
    if _CREDENTIALS.search(path):
        return "credentials"
    if _ENVIRON.search(path):
        return "environment"
    is_elsewhere = path.startswith("/") and not path.startswith(f"{repository.rstrip('/')}/")
    parts = path.split("/")
    if is_elsewhere or path.startswith("~") or ".." in parts or ".git" in parts:
        return "outside-path"
    return None


def _find_kinds(part: SimpleCommand, assigned: frozenset[str]) -> Iterator[ViolationKind]:
    for kind, pattern in _PATTERNS:
        if pattern.search(part.reaches):
            yield kind
    if (match := _SECRET.search(part.text)) and match[1] not in assigned:
        yield "environment"
    is_code = part.program in _INTERPRETERS or part.program.startswith("python")
    if is_code and (match := _SOCKET.search(part.text)) and not _LOCAL.search(part.text[match.start() :]):
        yield "network"
    if is_code and _DUMPED.search(part.text):
        yield "environment"
    rule = _PROGRAMS.get(part.program)
    if rule and not _ONLY_ASKS.fullmatch(part.rest) and (violation := rule(part.rest)):
        yield violation


_PATTERNS: tuple[tuple[ViolationKind, re.Pattern[str]], ...] = (
    ("credentials", _CREDENTIALS),
    ("environment", _ENVIRON),
    ("network", _METADATA),
    ("network", _DEVICE),
    ("walls", _WALLS),
    ("outside-path", _WRITES_OUT),
)


def _check_environment(rest: str) -> ViolationKind | None:
    """Return "environment" for `env` without a command, and for `printenv` of everything or of a secret."""
    words = _list_words(rest, (">", "2>"))
    if not words or any(re.fullmatch(_SECRET_NAME, word) for word in words):
        return "environment"
    return None


def _list_words(text: str, ignored_prefixes: tuple[str, ...]) -> list[str]:
    return [word for word in text.split() if not word.startswith(ignored_prefixes)]


def _check_connection(rest: str) -> ViolationKind | None:
    """Return "network" for a network program with an argument that is not only this machine."""
    targets = _list_words(rest, ("-",))
    is_local = _LOCAL.search(rest) and not re.search(r"://(?!localhost|127\.|\[::1\]|0\.0\.0\.0)", rest)
    return "network" if targets and not is_local else None


def _check_git(rest: str) -> ViolationKind | None:
    words = _list_words(re.sub(r"(?:^|\s)-[cC]\s+\S+", " ", rest), ("-",))
    if words[:1] == ["push"] or (words[:1] == ["remote"] and words[1:2] in (["add"], ["set-url"])):
        return "push"
    if words[:1] and words[0] in {"clone", "fetch", "pull", "ls-remote", "submodule"} and _REMOTE.search(rest):
        return "network"
    return None


def _build_rule(kind: ViolationKind, pattern: str = r"\S") -> Callable[[str], ViolationKind | None]:
    return lambda rest: kind if re.search(pattern, rest) else None


_PROGRAMS: Mapping[str, Callable[[str], ViolationKind | None]] = {
    **dict.fromkeys(("env", "printenv"), _check_environment),
    **dict.fromkeys(("export", "declare"), _build_rule("environment", r"\A\s*-[px]\s*\Z")),
    **dict.fromkeys(
        ("curl", "wget", "nc", "ncat", "netcat", "telnet", "ssh", "sftp", "ftp", "socat", "ping"), _check_connection
    ),
    **dict.fromkeys(("dig", "nslookup", "host"), _check_connection),
    **dict.fromkeys(("scp", "rsync"), _build_rule("network", r"(?:^|\s)(?:[\w.-]+@)?[\w.-]+:(?!\\)|://")),
    **dict.fromkeys(("gh", "glab", "hub"), _build_rule("push")),
    **dict.fromkeys(
        ("sudo", "doas", "mount", "umount", "unshare", "nsenter", "chroot", "pivot_root"), _build_rule("walls")
    ),
    "git": _check_git,
}
