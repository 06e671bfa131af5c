"""TAP 12 to 14, as tape, node, tap, prove, bats and others print it."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import OutcomeTally, ParsedReport, iterate_plain_lines

_POINT = compile_lazily(r"( *)(not )?ok(?: +(\d{1,9})(?= |\Z))?(?: +-(?= |\Z))?(?: +(.*))?\Z")
_PLAN = compile_lazily(r"( *)1\.\.(\d{1,9})(?:\s*#.*)?\s*\Z")
_SUBTEST = compile_lazily(r"( *)# Subtest: ?(.*)\Z")
_CLOSE = compile_lazily(r"( *)\}\s*\Z")
_BAIL = compile_lazily(r" *Bail out!\s*(.*)\Z")
_YAML = compile_lazily(r"( +)---\s*\Z")
_VERSION = compile_lazily(r"TAP version 1[234]\s*\Z")
_DIRECTIVE = compile_lazily(r"(?:\A|\s)#\s*(skip\S*|todo)\b.*\Z", re.IGNORECASE)
_TIME = compile_lazily(r"\s#\s*time=\S+\s*\Z")
_TRAILER = compile_lazily(r"# tests +\d+\Z")
_GROUP = compile_lazily(r"# (?!Subtest:)(\S.*)\Z")
_MAX_GAPS = 10
_UNNAMED = "(unnamed test)"

NamedOutcome = tuple[tuple[str, ...], TestOutcome]


@dataclass
class _Level:
    """The results at one depth of indentation; `inner` are those of a subtest whose own result has not come yet."""

    indent: int
    results: list[NamedOutcome] = field(default_factory=list)
    inner: list[NamedOutcome] = field(default_factory=list)
    numbers: list[int | None] = field(default_factory=list)
    planned: int | None = None
    subtest: str = ""
    opened: str = ""


def is_tap_output(text: str) -> bool:
    """Return True on strong evidence of TAP: a version or a plan, and a result."""
    is_announced = has_point = False
    for line in iterate_plain_lines(text):
        if _VERSION.match(line) or (_PLAN.match(line) and line[0] == "1"):
            is_announced = True
        elif _POINT.match(line):
            has_point = True
    return is_announced and has_point


def parse_tap(text: str) -> ParsedReport:
    """Read the results. Ids are `group > subtest > description`, without the numbers."""
    lines = list(iterate_plain_lines(text))
    reader = _Reader(has_groups=_is_tape(lines))
    for line in lines:
        reader.read_line(line)
    return reader.build_report()


def _is_tape(lines: Sequence[str]) -> bool:
    """Return True if comments name groups of tests, as tape and its kin print them, and not remarks on failures."""
    if any(map(_SUBTEST.match, lines)):
        return False
    if any(map(_TRAILER.match, lines)):
        return True
    for line, after in pairwise(filter(None, lines)):
        if _VERSION.match(line) and _GROUP.match(after):
            return True
    return False


class _Reader:
    def __init__(self, *, has_groups: bool) -> None:
        self._levels = [_Level(0)]
        self._has_groups = has_groups
        self._group: tuple[str, ...] = ()
        self._yaml: str | None = None
        self._problems: list[str] = []

    def read_line(self, line: str) -> None:
        """Take in one line; whatever is no TAP is passed over."""
        if self._is_yaml(line):
            return
        if match := _POINT.match(line):
            self._read_point(self._get_level(len(match[1])), match)
        elif match := _PLAN.match(line):
            self._get_level(len(match[1])).planned = int(match[2])
        elif match := _SUBTEST.match(line):
            self._get_level(len(match[1])).subtest = match[2].strip()
        elif match := _CLOSE.match(line):
            self._close_subtest(self._get_level(len(match[1])))
        elif match := _BAIL.match(line):
            self._problems.append(f"the test run bailed out: {match[1].strip() or 'no reason given'}")
        elif self._has_groups and (match := _GROUP.match(line)) and self._levels[0].planned is None:
            self._group = (match[1].strip(),)

    def build_report(self) -> ParsedReport:
        """Return what was read, once all lines are in."""
        top = self._get_level(0)
        self._check_plan(top)
        top.results += _add_prefix((top.opened or top.subtest or "(unfinished subtest)",), top.inner)
        if not top.results and top.planned is None:
            return ParsedReport(outcomes={}, problem="; ".join(self._problems) or "the output holds no TAP")
        if top.planned is None:
            self._problems.append("the TAP output has no plan, so it is cut off")
        tally = OutcomeTally()
        for names, outcome in top.results:
            tally.add_test(" > ".join(names), outcome)
        return ParsedReport(outcomes=tally.outcomes, problem="; ".join(self._problems))

    def _is_yaml(self, line: str) -> bool:
        """Return True if the line belongs to a block of details below a result, which may quote anything."""
        if self._yaml is not None:
            is_outside = bool(line.strip()) and not line.startswith(self._yaml)
            if is_outside or line.rstrip() == f"{self._yaml}...":
                self._yaml = None
            return not is_outside
        if (match := _YAML.match(line)) and self._levels[-1].numbers:
            self._yaml = match[1]
        return self._yaml is not None

    def _get_level(self, indent: int) -> _Level:
        """Return the level of this indentation; deeper ones are over."""
        while self._levels[-1].indent > indent:
            done = self._levels.pop()
            self._check_plan(done)
            self._levels[-1].inner += [*done.results, *done.inner]
        if self._levels[-1].indent < indent:
            self._levels.append(_Level(indent))
        return self._levels[-1]

    def _read_point(self, level: _Level, match: re.Match[str]) -> None:
        name, outcome = _read_description(match[4] or "", is_ok=match[2] is None)
        is_opening = name.endswith("{") and not level.inner
        if is_opening:
            name = name.removesuffix("{").strip()
        name = name or level.subtest or _UNNAMED
        level.opened = name * is_opening
        prefix = self._get_prefix(level)
        level.results += _add_prefix((*prefix, name), level.inner)
        level.results.append(((*prefix, name), outcome))
        level.numbers.append(int(match[3]) if match[3] else None)
        level.inner, level.subtest = [], ""

    def _close_subtest(self, level: _Level) -> None:
        if level.opened:
            level.results += _add_prefix((*self._get_prefix(level), level.opened), level.inner)
            level.inner, level.opened = [], ""

    def _get_prefix(self, level: _Level) -> tuple[str, ...]:
        return self._group * (level.indent == 0)

    def _check_plan(self, level: _Level) -> None:
        if level.planned is None or len(level.numbers) >= level.planned:
            return
        missing = ""
        if None not in level.numbers:
            missing = f" (missing: {_list_gaps(frozenset(level.numbers), level.planned)})"
        self._problems.append(
            f"the TAP plan promises {level.planned} tests, {len(level.numbers)} were reported{missing}"
        )


def _list_gaps(numbers: Container[int | None], planned: int) -> str:
    """Return the first of the numbers from 1 to `planned` that are not among these."""
    gaps: list[str] = []
    for number in range(1, planned + 1):
        if len(gaps) == _MAX_GAPS:
            gaps.append("…")
            break
        if number not in numbers:
            gaps.append(str(number))
    return ", ".join(gaps)


def _add_prefix(prefix: tuple[str, ...], inner: Sequence[NamedOutcome]) -> Iterator[NamedOutcome]:
    for names, outcome in inner:
        yield (*prefix, *names), outcome


def _read_description(text: str, *, is_ok: bool) -> tuple[str, TestOutcome]:
    """Return a description without its directive, and the outcome that both make."""
    outcome, todo = TestOutcome.FAILED, TestOutcome.XFAILED
    if is_ok:
        outcome, todo = TestOutcome.PASSED, TestOutcome.XPASSED
    text = _TIME.sub("", text)
    if match := _DIRECTIVE.search(text):
        text = text[: match.start()]
        outcome = TestOutcome.SKIPPED if match[1].lower().startswith("skip") else todo
    return re.sub(r"\\([#\\])", r"\1", text).strip(), outcome
