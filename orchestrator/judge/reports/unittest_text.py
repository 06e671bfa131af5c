"""Reading the output of `python -m unittest -v`, and of runners built on it such as Django's."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports import parsed_report
from orchestrator.judge.reports.parsed_report import OutcomeTally, ParsedReport

_HEADER = compile_lazily(
    r"(?:  )?(?P<name>(?:set|tear)\S+(?= \()|\S+(?= \([^()\s]*\.)) \((?P<where>[^()\s]+)\)(?: \[.*?\])?(?: \(.*?\))?"
)
_DOCTEST = compile_lazily(r"Doctest: (?P<name>.+?) \.\.\.(?: (?P<rest>.*))?\Z")
_TITLE = compile_lazily(r"(?P<name>.+?) \((?P<where>[^()\s]*)\)")
_DOTS = " ... "
_STATUS = compile_lazily(r"(ok|FAIL|ERROR|expected failure|unexpected success|skipped (?:'.*'|\".*\"))\Z")
_SECTION = compile_lazily(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (.*)\Z")
_RAN = compile_lazily(r"Ran (\d+) tests? in [\d.]+s\b")
_RULE = "=" * 70
_END_CHARS = 1_000
_FIXTURES = {"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}
_OUTCOMES = {
    "ok": TestOutcome.PASSED,
    "FAIL": TestOutcome.FAILED,
    "ERROR": TestOutcome.ERROR,
    "expected failure": TestOutcome.XFAILED,
    "unexpected success": TestOutcome.XPASSED,
}


@dataclass
class _Shown:
    """A test whose line was seen: what stands after the dots, and the lines that its own output added."""

    test_id: str
    rest: str
    output: list[str] = field(default_factory=list)

    def iterate_outcomes(self) -> Iterator[TestOutcome]:
        """Yield its possible outcomes, likeliest first: the status may stand at the end of what the test printed."""
        rest, output = self.rest.rstrip(), list(map(str.rstrip, reversed(self.output)))
        for line in (rest, *output):
            if match := _STATUS.fullmatch(line):
                yield _OUTCOMES.get(match[1], TestOutcome.SKIPPED)
        for line in (*output, rest):
            if match := _STATUS.search(line[-_END_CHARS:]):
                yield _OUTCOMES.get(match[1], TestOutcome.SKIPPED)


@dataclass
class _Run:
    """One run of the runner: `red` is what its closing sections name, which nothing a test prints can contradict."""

    shown: list[_Shown] = field(default_factory=list)
    red: OutcomeTally = field(default_factory=OutcomeTally)
    ran: int | None = None

    def record_outcomes(self, tally: OutcomeTally) -> None:
        """Add its outcomes. A test that never told its own counts as skipped, or as an error if the run broke off."""
        unknown = TestOutcome.ERROR if self.ran is None else TestOutcome.SKIPPED
        known = set(self.red.outcomes)
        for shown in self.shown:
            outcome = self._choose_outcome(shown)
            if outcome is not None:
                known.add(shown.test_id)
                if shown.test_id not in self.red.outcomes:
                    tally.merge_outcome(shown.test_id, outcome)
        for shown in self.shown:
            if shown.test_id not in known:
                tally.merge_outcome(shown.test_id, unknown)
        for test_id, outcome in self.red.outcomes.items():
            tally.merge_outcome(test_id, outcome)

    def _choose_outcome(self, shown: _Shown) -> TestOutcome | None:
        """Return the likeliest outcome; after a whole run, a red one is credible only if no other is there."""
        red: TestOutcome | None = None
        for outcome in shown.iterate_outcomes():
            if self.ran is None or not outcome.is_red:
                return outcome
            red = red or outcome
        return red

    @property
    def problem(self) -> str:
        """A sentence on outcomes that are missing; empty if none is."""
        if self.ran is None:
            return "the unittest output is cut off: it does not say how many tests ran"
        shown = [test.test_id for test in self.shown if not test.test_id.startswith(parsed_report.SET_UP_PREFIX)]
        read = max(len({*shown, *filter(parsed_report.is_test_id, self.red.outcomes)}), len(shown))
        if read >= self.ran:
            return ""
        return f"unittest ran {self.ran} tests, but only {read} could be read: was -v given?"


def is_unittest_output(text: str) -> bool:
    """Return True on strong evidence of verbose unittest output: tests with outcomes, and the closing line."""
    shown, is_closed = 0, False
    for run in _read_runs(parsed_report.iterate_plain_lines(text)):
        is_closed = is_closed or run.ran is not None
        for test in run.shown:
            shown += any(test.iterate_outcomes())
    return shown > 1 or (shown == 1 and is_closed)


def parse_unittest_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `module.Class.test`."""
    runs = _read_runs(parsed_report.iterate_plain_lines(text))
    if not runs:
        return ParsedReport(outcomes={}, problem="the output holds no test of unittest: was -v given?")
    tally, problems = OutcomeTally(), list[str]()
    for run in runs:
        run.record_outcomes(tally)
        if run.problem:
            problems.append(run.problem)
    return ParsedReport(outcomes=tally.outcomes, problem="; ".join(problems))


def _read_runs(lines: Iterable[str]) -> list[_Run]:
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
                run.red.merge_outcome(_build_section_id(match[2]), _OUTCOMES[match[1]])
        elif (
            not self._is_in_sections
            and not self._read_test(line)
            and not self._read_documented_test(before, line)
            and run.shown
        ):
            run.shown[-1].output.append(line)

    def _read_test(self, line: str) -> bool:
        """Read a test and its dots; its outcome may be on the next test's line. Return False if there is none."""
        match = _HEADER.match(line)
        if match is None or not line.startswith(_DOTS.rstrip(), match.end()):
            return False
        rest = line[match.end() + len(_DOTS) :]
        self.runs[-1].shown.append(_Shown(_build_id(match), rest))
        if self._read_test(rest) or _HEADER.fullmatch(rest):
            last = -1 if _HEADER.fullmatch(rest) else -2
            self.runs[-1].shown[last].rest = ""
            self._before = rest
        return True

    def _read_documented_test(self, before: str, line: str) -> bool:
        """Return True for the second line of a test with a docstring: `the docstring ... ok`."""
        shown = self.runs[-1].shown
        if match := _DOCTEST.match(line):
            shown.append(_Shown(match["name"], match["rest"] or ""))
            return True
        match = _HEADER.fullmatch(before)
        if match is None or _DOTS.rstrip() not in line:
            return False
        if shown and shown[-1].output[-1:] == [before]:
            shown[-1].output.pop()
        shown.append(_Shown(_build_id(match), line.partition(_DOTS)[2]))
        return True


def _build_id(match: re.Match[str]) -> str:
    name, where = match["name"], match["where"]
    if name in _FIXTURES:
        return f"{parsed_report.SET_UP_PREFIX}{name} {where}"
    if where.startswith("unittest.loader."):
        return f"{parsed_report.COLLECTION_PREFIX}{name}"
    if where.rpartition(".")[2] == name:
        return where
    return f"{where}.{name}".lstrip(".")


def _build_section_id(title: str) -> str:
    if match := _TITLE.match(title):
        return _build_id(match)
    return f"{parsed_report.SUITE_PREFIX}{title.strip()}"
