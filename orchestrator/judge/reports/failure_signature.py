"""Failure messages reduced to what they have in common, and the few lines of an output that tell the most."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import iterate_plain_lines

SIGNATURE_CHARS = 200
EXCERPT_CHARS = 4_000
_LINE_CHARS = 300
_READ_CHARS = 2_000
_TESTS = 10
_LINES = 3
_FALLBACK_LINES = 8

_TELLING = compile_lazily(
    r"""\s*(?:E\s+)?(?:Uncaught\s+)?(?:
        assert\b
      | [\w.$]*(?:Error|Exception|Failure|Failed|Exit|Interrupt|Warning|Timeout)(?:\s\[\w+\])?(?::|\s*\Z)
      | thread\s.*\spanicked\sat\b | assertion\s.*\sfailed
      | \S+_test\.go:\d+:
    )""",
    re.VERBOSE,
)
_PREFIX = compile_lazily(r"\s*(?:(?:FAILED|ERROR) \S.*? - |(?:E\s+)?(?:Uncaught\s+)?)")
_ASSERTION = compile_lazily(r"(?:[\w.]*Assert\w*Error|[\w.]*ComparisonFailure|[\w.]*Failed|assert)\b")
_RULES = (
    (compile_lazily(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (compile_lazily(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (compile_lazily(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)]+", re.IGNORECASE), "<url>"),
    (compile_lazily(r"(?<![\w<])(?:[A-Za-z]:)?[\w.~+@%-]*(?:[/\\][\w.~+@%-]+)+[/\\]?(?::\d+)*"), "<path>"),
    (
        compile_lazily(
            r"(?<![\w.])[\w-]+\.(?:py|pyx|js|mjs|cjs|jsx|tsx?|go|rs|java|kt|rb|php|cs|c|cc|cpp|h)\b(?::\d+)*"
        ),
        "<path>",
    ),
    (compile_lazily(r"\btmp[\w-]{4,}"), "<temp>"),
    (compile_lazily(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
)
_QUOTED = compile_lazily(r"(?<!\w)(['\"`])((?:\\.|(?!\1)[^\\])*)\1(?!\w)")
_NAME = compile_lazily(r"[A-Za-z_][\w.]{0,60}\Z")
_DURATION = compile_lazily(r"(?<![\w.])\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|min|minutes?)\b")
_NUMBER = compile_lazily(r"(?<![\w.])[-+]?\d[\d_]*(?:\.\d+)*(?:[eE][-+]?\d+)?(?!\w)")
_HEADERS = compile_lazily(
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
_SUMMARY = compile_lazily(r"(?:FAILED|ERROR) (?P<test>.+?) - (?P<message>.+)\Z")
_DETAIL = compile_lazily(r"\s+(?:operator|expected|actual|message|error|got|wanted):\s*(?![|>][-+]?\Z)\S")
_FILLER = compile_lazily(r"\s*(?:[-=_~^.]{3,}|Traceback \(most recent call last\):)?\s*\Z")


def build_failure_signature(text: str) -> str:
    """Return what a failure message has in common with others of its kind, in at most 200 characters.

    Of several lines the last one that names an exception or an assertion counts, else the first detail that a TAP
    result gives, else the first one. Paths, line numbers, addresses, ids,
    temporary names, durations and numbers are taken out; of quoted texts, names stay (`'ExceptionInfo' object has no
    attribute 'exception'`), unless values are being compared.
    """
    line = _PREFIX.sub("", _choose_line(text)[:_READ_CHARS], count=1).strip()
    is_comparison = _ASSERTION.match(line) is not None

    def shorten_quote(match: re.Match[str]) -> str:
        if _NAME.match(match[2]) and not is_comparison:
            return match[0]
        return f"{match[1]}…{match[1]}"

    for pattern, word in _RULES:
        line = pattern.sub(word, line)
    line = _QUOTED.sub(shorten_quote, line)
    line = _NUMBER.sub("N", _DURATION.sub("N s", line))
    return " ".join(line.split())[:SIGNATURE_CHARS]


def extract_failure_excerpt(output: str, test_ids: Sequence[str]) -> str:
    """Return the lines of a test runner's output that say why these tests fail: a line with the id, then its reasons.

    At most 10 tests with 3 lines each, 4,000 characters in all. What cannot be found for any of the tests is replaced
    by the last telling lines of the whole output.
    """
    lines = _split_lines(output)
    blocks, summaries = _read_blocks(lines), _read_summaries(lines)
    parts = []
    for test in test_ids[:_TESTS]:
        reasons = _list_reasons(test, blocks) or summaries.get(test, [])
        if reasons:
            parts += [test[:_LINE_CHARS], *map("  {}".format, reasons)]
    if not parts:
        parts = _list_last_words(lines)
    elif len(test_ids) > _TESTS:
        parts.append(f"and {len(test_ids) - _TESTS} more")
    return "\n".join(parts)[:EXCERPT_CHARS]


def extract_failure_passage(output: str, test: str) -> str:
    """Return all of a runner's output below the header of one failed test, tracebacks included; "" if nothing."""
    fitting, exact = _select_blocks(test, _read_blocks(_split_lines(output)))
    lines = []
    for block in exact or fitting:
        lines += [block.title, *block.lines]
    return "\n".join(lines)


def _split_lines(text: str) -> list[str]:
    return list(map(str.rstrip, iterate_plain_lines(text)))


def _choose_line(text: str) -> str:
    lines = [line[:_READ_CHARS] for line in _split_lines(text) if line.strip()]
    telling = list(filter(_TELLING.match, lines))
    details = list(filter(_DETAIL.match, lines))
    return (telling[-1:] or details[:1] or lines[:1] or [""])[0]


@dataclass
class _Block:
    """The part of an output below the header of one failed test."""

    title: str
    is_tap: bool = False
    lines: list[str] = field(default_factory=list)

    @property
    def reasons(self) -> Sequence[str]:
        """The few lines that tell the most; none if all are rules and blank lines."""
        if self.is_tap and (details := list(filter(_DETAIL.match, self.lines))):
            return details[:_LINES]
        return _list_telling(self.lines) or _list_words(self.lines)[:_LINES]


def _list_telling(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if _TELLING.match(line[:_READ_CHARS])][-_LINES:]


def _list_words(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not _FILLER.match(line)]


def _read_blocks(lines: Sequence[str]) -> list[_Block]:
    block, blocks = _Block(""), list[_Block]()
    for line in lines:
        match = _HEADERS.match(line[:_READ_CHARS])
        if match is None:
            block.lines.append(line)
            continue
        kind = match.lastgroup or "end"
        block = _Block(match[kind], is_tap=kind == "tap")
        if kind != "end":
            blocks.append(block)
    return blocks


def _read_summaries(lines: Sequence[str]) -> dict[str, list[str]]:
    summaries = {}
    for line in lines:
        if match := _SUMMARY.match(line[:_READ_CHARS]):
            summaries[match["test"]] = [match["message"][:_LINE_CHARS]]
    return summaries


def _list_reasons(test: str, blocks: Sequence[_Block]) -> list[str]:
    """Return the telling lines of the block whose title fits the test best."""
    fitting, exact = _select_blocks(test, blocks)
    for block in (*exact, *fitting):
        reasons = [re.sub(r"\AE\s+", "", line.strip())[:_LINE_CHARS] for line in block.reasons]
        if reasons:
            return reasons
    return []


def _select_blocks(test: str, blocks: Sequence[_Block]) -> tuple[list[_Block], list[_Block]]:
    """Return the blocks whose titles name a test, and those of them that name its class or module as well."""
    parts = re.split(r"::| > |\.(?=\w+(?:\[|\Z))", re.sub(r" #\d+\Z", "", test))
    fitting, exact = [], []
    for block in blocks:
        if _has_word(block.title, parts[-1]):
            fitting.append(block)
            if len(parts) < 2 or _has_word(block.title, parts[-2].rpartition(".")[2]):
                exact.append(block)
    return fitting, exact


def _has_word(title: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", title) is not None


def _list_last_words(lines: Sequence[str]) -> list[str]:
    last = _list_telling(lines) or _list_words(lines)[-_FALLBACK_LINES:]
    return [line.strip()[:_LINE_CHARS] for line in last]
