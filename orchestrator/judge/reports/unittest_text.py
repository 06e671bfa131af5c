"""What `python -m unittest -v` prints, and runners built on it such as Django's."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.judge.reports.parsed_report import (
    COLLECTION_PREFIX,
    SET_UP_PREFIX,
    SUITE_PREFIX,
    OutcomeTally,
    ParsedReport,
    is_test_id,
    iterate_plain_lines,
)

_HEADER = re.compile(
    r"(?:  )?(?P<name>(?:set|tear)\S+(?= \()|\S+(?= \([^()\s]*\.)) \((?P<where>[^()\s]+)\)(?: \[.*?\])?(?: \(.*?\))?"
)
_DOCTEST = re.compile(r"Doctest: (?P<name>.+?) \.\.\.(?: (?P<rest>.*))?\Z")
_TITLE = re.compile(r"(?P<name>.+?) \((?P<where>[^()\s]*)\)")
_DOTS = " ... "
_STATUS = re.compile(r"(ok|FAIL|ERROR|expected failure|unexpected success|skipped (?:'.*'|\".*\"))\Z")
_SECTION = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (.*)\Z")
_RAN = re.compile(r"Ran (\d+) tests? in [\d.]+s\b")
_RULE = "=" * 70
_END_CHARS = 1_000
_FIXTURES = {"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}
_OUTCOMES = {
    "ok": TestOutcome.PASSED,
    "FAIL": TestOutcome.FAILED,
    "ERROR": TestOutcome.ERROR,
    "expected failure": TestOutcome.XFAILED,
    "unexpected success": TestOutcome.XPASSED,
    "skipped": TestOutcome.SKIPPED,
}


@dataclass
class _Shown:
    """A test whose line was seen: what stands after the dots, and the lines that its own output added."""

    test_id: str
    rest: str
    output: list[str] = field(default_factory=list)

    def iterate_outcomes(self) -> Iterator[TestOutcome]:
        """What may be its outcome, likeliest first: the status may stand at the end of anything the test printed."""
        lines = []
        for line in (self.rest, *reversed(self.output)):
            lines.append(line.rstrip())
        alone = filter(None, map(_STATUS.fullmatch, lines))
        at_the_end = filter(None, (_STATUS.search(line[-_END_CHARS:]) for line in [*lines[1:], lines[0]]))
        for match in chain(alone, at_the_end):
            yield _OUTCOMES[match[1] if match[1] in _OUTCOMES else "skipped"]


@dataclass
class _Run:
    """One run of the runner: `red` is what its closing sections name, which nothing a test prints can contradict."""

    shown: list[_Shown] = field(default_factory=list)
    red: OutcomeTally = field(default_factory=OutcomeTally)
    ran: int | None = None

    def record_outcomes(self, tally: OutcomeTally) -> None:
        """Add its outcomes. A test that never told its own counts as skipped, or as an error if the run broke off."""
        if self.ran is None:
            unknown = TestOutcome.ERROR
        else:
            unknown = TestOutcome.SKIPPED
        told = []
        for shown in self.shown:
            told.append((shown.test_id, self._outcome(shown)))
        known = {test_id for test_id, outcome in told if outcome}
        for test_id, outcome in told:
            if test_id in self.red.outcomes or (outcome is None and test_id in known):
                continue
            tally.merge_outcome(test_id, outcome or unknown)
        for test_id, outcome in self.red.outcomes.items():
            tally.merge_outcome(test_id, outcome)

    def _outcome(self, shown: _Shown) -> TestOutcome | None:
        """What it seems to be; after a run that came to its end, a red one is credible only if no other is there."""
        likely = list(shown.iterate_outcomes())
        credible = []
        for outcome in likely:
            if self.ran is None or not outcome.is_red:
                credible.append(outcome)
        return next(iter([*credible, *likely]), None)

    @property
    def problem(self) -> str:
        """What is missing."""
        if self.ran is None:
            return "the unittest output is cut off: it does not say how many tests ran"
        shown = [shown.test_id for shown in self.shown if not shown.test_id.startswith(SET_UP_PREFIX)]
        read = max(len(set(shown) | {test_id for test_id in self.red.outcomes if is_test_id(test_id)}), len(shown))
        if read >= self.ran:
            return ""
        return f"unittest ran {self.ran} tests, but only {read} could be read: was -v given?"


def is_unittest_output(text: str) -> bool:
    """Whether there is strong evidence of verbose unittest output: tests with outcomes, and the closing line."""
    runs = _runs(iterate_plain_lines(text))
    shown = sum(any(True for _ in test.iterate_outcomes()) for run in runs for test in run.shown)
    return bool(shown) and (any(run.ran is not None for run in runs) or shown > 1)


def parse_unittest_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `module.Class.test`."""
    runs = _runs(iterate_plain_lines(text))
    if not runs:
        return ParsedReport(outcomes={}, problem="the output holds no test of unittest: was -v given?")
    tally = OutcomeTally()
    for run in runs:
        run.record_outcomes(tally)
    return ParsedReport(outcomes=tally.outcomes, problem="; ".join(filter(None, (run.problem for run in runs))))


def _runs(lines: Iterable[str]) -> list[_Run]:
    reader = _Reader()
    for line in lines:
        reader.read_line(line)
    return [run for run in reader.runs if run.shown or run.red.outcomes or run.ran is not None]


class _Reader:
    def __init__(self) -> None:
        self.runs = [_Run()]
        self._is_in_sections = False
        self._before = ""

    def read_line(self, line: str) -> None:
        """Take in one line."""
        run, before, self._before = self.runs[-1], self._before, line
        if match := _RAN.match(line):
            run.ran, self._is_in_sections = int(match[1]), False
            self.runs.append(_Run())
        elif before == _RULE and (match := _SECTION.match(line)):
            self._is_in_sections = True
            if match[1] != "UNEXPECTED SUCCESS":
                run.red.merge_outcome(_section_id(match[2]), _OUTCOMES[match[1]])
        elif not self._is_in_sections and not self._test(line) and not self._documented(before, line) and run.shown:
            run.shown[-1].output.append(line)

    def _test(self, line: str) -> bool:
        """Whether the line shows a test and its dots; the outcome may be the next test's line if it reports later."""
        match = _HEADER.match(line)
        if match is None or not line.startswith(_DOTS.rstrip(), match.end()):
            return False
        rest = line[match.end() + len(_DOTS) :]
        self.runs[-1].shown.append(_Shown(_id(match), rest))
        if self._test(rest) or _HEADER.fullmatch(rest):
            self.runs[-1].shown[-1 if _HEADER.fullmatch(rest) else -2].rest = ""
            self._before = rest
        return True

    def _documented(self, before: str, line: str) -> bool:
        """Whether this is the second line of a test with a docstring: `the docstring ... ok`."""
        shown = self.runs[-1].shown
        if match := _DOCTEST.match(line):
            shown.append(_Shown(match["name"], match["rest"] or ""))
            return True
        match = _HEADER.fullmatch(before)
        if match is None or _DOTS.rstrip() not in line:
            return False
        if shown and shown[-1].output[-1:] == [before]:
            shown[-1].output.pop()
        shown.append(_Shown(_id(match), line.partition(_DOTS)[2]))
        return True


def _id(match: re.Match[str]) -> str:
    name, where = match["name"], match["where"]
    if name in _FIXTURES:
        return f"{SET_UP_PREFIX}{name} {where}"
    if where.startswith("unittest.loader."):
        return f"{COLLECTION_PREFIX}{name}"
    if where.rpartition(".")[2] == name:
        return where
    return f"{where}.{name}".lstrip(".")


def _section_id(title: str) -> str:
    match = _TITLE.match(title)
    if match:
        return _id(match)
    return f"{SUITE_PREFIX}{title.strip()}"
