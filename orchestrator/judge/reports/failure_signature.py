"""Failure messages reduced to what they have in common, and the few lines of an output that tell the most."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

SIGNATURE_CHARS = 200
EXCERPT_CHARS = 4_000
_LINE_CHARS = 300
_READ_CHARS = 2_000
_TESTS = 10
_LINES = 3
_FALLBACK_LINES = 8

_STYLING = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")
_TELLING = re.compile(
    r"""\s*(?:E\s+)?(?:Uncaught\s+)?(?:
        assert\b
      | [\w.$]*(?:Error|Exception|Failure|Failed|Exit|Interrupt|Warning|Timeout)(?:\s\[\w+\])?(?::|\s*\Z)
      | thread\s.*\spanicked\sat\b | assertion\s.*\sfailed
      | \S+_test\.go:\d+:
    )""",
    re.VERBOSE,
)
_PREFIX = re.compile(r"\s*(?:(?:FAILED|ERROR) \S.*? - |(?:E\s+)?(?:Uncaught\s+)?)")
_ASSERTION = re.compile(r"(?:[\w.]*Assert\w*Error|[\w.]*ComparisonFailure|[\w.]*Failed|assert)\b")
_RULES = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)]+", re.IGNORECASE), "<url>"),
    (re.compile(r"(?<![\w<])(?:[A-Za-z]:)?[\w.~+@%-]*(?:[/\\][\w.~+@%-]+)+[/\\]?(?::\d+)*"), "<path>"),
    (
        re.compile(r"(?<![\w.])[\w-]+\.(?:py|pyx|js|mjs|cjs|jsx|tsx?|go|rs|java|kt|rb|php|cs|c|cc|cpp|h)\b(?::\d+)*"),
        "<path>",
    ),
    (re.compile(r"\btmp[\w-]{4,}"), "<temp>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
)
_QUOTED = re.compile(r"(?<!\w)(['\"`])((?:\\.|(?!\1)[^\\])*)\1(?!\w)")
_NAME = re.compile(r"[A-Za-z_][\w.]{0,60}\Z")
_DURATION = re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|min|minutes?)\b")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d_]*(?:\.\d+)*(?:[eE][-+]?\d+)?(?!\w)")
_HEADERS = re.compile(
    r"""(?:
        _{3,}\s(?P<pytest>.+?)\s_{3,}\Z
      | (?:FAIL|ERROR):\s(?P<unittest>.+)\Z
      | \s*not\ ok\s+(?:\d+\s*)?(?:-\s)?(?P<tap>.+)\Z
      | \s*●\s(?P<jest>.+)\Z
      | \s*---\ FAIL:\s(?P<go>\S+)
      | ----\s(?P<rust>\S+)\sstdout\s----\Z
      | (?P<end>={3,}\s.*\s={3,}\Z)
    )""",
    re.VERBOSE,
)
_SUMMARY = re.compile(r"(?:FAILED|ERROR) (?P<test>.+?) - (?P<message>.+)\Z")
_DETAIL = re.compile(r"\s+(?:operator|expected|actual|message|error|got|wanted):\s*(?![|>][-+]?\Z)\S")
_FILLER = re.compile(r"\s*(?:[-=_~^.]{3,}|Traceback \(most recent call last\):)?\s*\Z")


def build_failure_signature(text: str) -> str:
    """What a failure message has in common with others of its kind, in at most 200 characters.

    Of several lines the last one that names an exception or an assertion counts, else the first detail that a TAP
    result gives, else the first one. Paths, line numbers, addresses, ids,
    temporary names, durations and numbers are taken out; of quoted texts, names stay (`'ExceptionInfo' object has no
    attribute 'exception'`), unless values are being compared.
    """
    line = _PREFIX.sub("", _telling_line(text)[:_READ_CHARS], count=1).strip()
    is_comparison = _ASSERTION.match(line) is not None
    for pattern, word in _RULES:
        line = pattern.sub(word, line)
    line = _QUOTED.sub(lambda match: match[0] if _stays(match[2], is_comparison) else f"{match[1]}…{match[1]}", line)
    line = _NUMBER.sub("N", _DURATION.sub("N s", line))
    return " ".join(line.split())[:SIGNATURE_CHARS]


def extract_failure_excerpt(output: str, test_ids: Sequence[str]) -> str:
    """The lines of a test runner's output that say why these tests fail: a line with the id, then its reasons.

    At most 10 tests with 3 lines each, 4,000 characters in all. What cannot be found for any of the tests is replaced
    by the last telling lines of the whole output.
    """
    lines = _lines(output)
    blocks, summary = _blocks(lines), _summaries(lines)
    parts = []
    for test in test_ids[:_TESTS]:
        reasons = _reasons(test, blocks) or summary.get(test, [])
        parts += [test[:_LINE_CHARS], *(f"  {reason}" for reason in reasons)] if reasons else []
    if not parts:
        parts = _last_words(lines)
    elif len(test_ids) > _TESTS:
        parts.append(f"and {len(test_ids) - _TESTS} more")
    return "\n".join(parts)[:EXCERPT_CHARS]


def extract_failure_passage(output: str, test: str) -> str:
    """All that a test runner's output says below the header of one failed test, tracebacks included; "" if nothing."""
    parts = re.split(r"::| > |\.(?=\w+(?:\[|\Z))", re.sub(r" #\d+\Z", "", test))
    blocks = []
    for block in _blocks(_lines(output)):
        if _has_word(block.title, parts[-1]):
            blocks.append(block)
    exact = []
    for block in blocks:
        if len(parts) < 2 or _has_word(block.title, parts[-2].rpartition(".")[2]):
            exact.append(block)
    return "\n".join(line for block in exact or blocks for line in (block.title, *block.lines))


def _stays(quoted: str, is_comparison: bool) -> bool:
    return not is_comparison and _NAME.match(quoted) is not None


def _lines(text: str) -> list[str]:
    return [_STYLING.sub("", line).rstrip() for line in text.split("\n")]


def _telling_line(text: str) -> str:
    lines = []
    for line in _lines(text):
        if line.strip():
            lines.append(line[:_READ_CHARS])
    telling = [line for line in lines if _TELLING.match(line)]
    details = [line for line in lines if _DETAIL.match(line)]
    return (telling[-1:] or details[:1] or lines[:1] or [""])[0]


@dataclass
class _Block:
    """What an output says below the header of one failed test."""

    title: str
    is_tap: bool = False
    lines: list[str] = field(default_factory=list)


def _blocks(lines: Sequence[str]) -> list[_Block]:
    blocks = [_Block("")]
    for line in lines:
        match = _HEADERS.match(line[:_READ_CHARS])
        if match is None:
            blocks[-1].lines.append(line)
        else:
            titles = {}
            for name, title in match.groupdict().items():
                if title and name != "end":
                    titles[name] = title
            blocks.append(_Block("".join(titles.values()), is_tap="tap" in titles))
    return [block for block in blocks if block.title]


def _summaries(lines: Sequence[str]) -> dict[str, list[str]]:
    found = filter(None, (_SUMMARY.match(line[:_READ_CHARS]) for line in lines))
    return {match["test"]: [match["message"][:_LINE_CHARS]] for match in found}


def _reasons(test: str, blocks: Sequence[_Block]) -> list[str]:
    """The telling lines of the block whose title fits the test best."""
    parts = re.split(r"::| > |\.(?=\w+(?:\[|\Z))", re.sub(r" #\d+\Z", "", test))
    fitting = [block for block in blocks if _has_word(block.title, parts[-1])]
    exact = [block for block in fitting if len(parts) < 2 or _has_word(block.title, parts[-2].rpartition(".")[2])]
    for block in [*exact, *fitting]:
        details = []
        for line in block.lines:
            if block.is_tap and _DETAIL.match(line):
                details.append(line)
        telling = []
        for line in block.lines:
            if _TELLING.match(line[:_READ_CHARS]):
                telling.append(line)
        others = (line for line in block.lines if not _FILLER.match(line))
        if lines := details[:_LINES] or telling[-_LINES:] or list(islice(others, _LINES)):
            return [re.sub(r"\AE\s+", "", line.strip())[:_LINE_CHARS] for line in lines]
    return []


def _has_word(title: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", title) is not None


def _last_words(lines: Sequence[str]) -> list[str]:
    telling = []
    for line in lines:
        if _TELLING.match(line[:_READ_CHARS]):
            telling.append(line)
    last = telling[-_LINES:] or [line for line in lines if not _FILLER.match(line)][-_FALLBACK_LINES:]
    return [line.strip()[:_LINE_CHARS] for line in last]
