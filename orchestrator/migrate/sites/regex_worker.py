"""A recipe's regular expression at work, as a program of its own: see `regex`. Needs the standard library alone.

Standard input is one JSON object: `pattern`, `rewrite` (null to look for matches), `timeout_s`, `contents` (bytes as
Latin-1). For each content there is a line of JSON on standard output: lines and columns of the matches, or the new
content; null where that would be too large. A content that takes longer than `timeout_s` ends the process by SIGALRM.
"""

import json
import re
import resource
import signal
import sys
from bisect import bisect_left
from collections.abc import Iterator

_MOST_BYTES = 4 * 1024**3
_MOST_CONTENT = 64 * 1024**2


def replace_matches(pattern: str, rewrite: str, content: bytes) -> bytes:
    r"""The content with every match of the pattern replaced; `\1` and `\g<name>` stand for groups."""
    text = content.decode("utf-8", "surrogateescape")
    return re.sub(pattern, rewrite, text, flags=re.MULTILINE).encode("utf-8", "surrogateescape")


def find_matches(pattern: str, content: bytes) -> Iterator[tuple[int, int]]:
    """Line and column of every match, both from 1; columns count characters."""
    ends = [-1, *(newline.start() for newline in re.finditer(b"\n", content))]
    for match in re.finditer(pattern.encode(), content, re.MULTILINE):
        line = bisect_left(ends, match.start())
        before = content[ends[line - 1] + 1 : match.start()]
        yield line, len(before.decode("utf-8", "replace")) + 1


def _answer(pattern: str, rewrite: str | None, content: bytes) -> object:
    try:
        if rewrite is None:
            return list(find_matches(pattern, content))
        made = replace_matches(pattern, rewrite, content)
    except MemoryError:
        return None
    return made.decode("latin-1") if len(made) <= _MOST_CONTENT else None


def _limit_memory() -> None:
    """Limit the memory of this process, never above what it was started with."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = _MOST_BYTES
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def main() -> None:
    """Answer what standard input asks."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _limit_memory()
    asked = json.load(sys.stdin)
    for content in asked["contents"]:
        signal.setitimer(signal.ITIMER_REAL, asked["timeout_s"])
        answer = _answer(asked["pattern"], asked["rewrite"], content.encode("latin-1"))
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
