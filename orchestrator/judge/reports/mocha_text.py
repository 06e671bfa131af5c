"""The output of mocha's usual reporter, `spec`."""

from collections import Counter

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.counted_tests import CountedTests
from orchestrator.judge.reports.parsed_report import SET_UP_PREFIX, ParsedReport, iterate_plain_lines

_TEST = compile_lazily(
    r"(?P<indent> {2,})(?:(?P<passed>[✔✓√])|(?P<skipped>-)|(?P<number>\d+)\)) (?P<name>\S.*?)(?: \(\d+ms\))?\Z"
)
_HOOK = compile_lazily(r'"(?:before|after)(?: all| each)" hook\b')
_SUITE = compile_lazily(r"(?P<indent> {2,})(?P<name>\S.*)\Z")
_PASSING = compile_lazily(r"  (\d+) passing \([\d.]+m?s?[hmsd]?\)\Z")
_NEXT_RUN = compile_lazily(r"[>$] \S")
"""A line of npm or yarn before it runs the next script: nothing else tells that the list of failures is over."""
_MORE = compile_lazily(r"  (\d+) (pending|failing)\Z")


def is_mocha_output(text: str) -> bool:
    """Return True on strong evidence of mocha's `spec`: a test, and the sum of those that pass."""
    has_test = False
    for line in iterate_plain_lines(text):
        has_test = has_test or bool(_TEST.match(line))
        if has_test and _PASSING.match(line):
            return True
    return False


def parse_mocha_text(text: str) -> ParsedReport:
    """Read the outcomes. Ids are `describe > test`: this reporter names no files.

    Lines that a test prints stand among those of its runner. One that begins with two blanks may be taken for the name
    of a suite, one that looks like a test for a test; then the sums differ.
    """
    reader = _Reader()
    for line in iterate_plain_lines(text):
        reader.read_line(line)
    reader.close_sums()
    return reader.tests.build_report()


class _Reader:
    def __init__(self) -> None:
        self.tests = CountedTests("mocha")
        self._suites: list[tuple[int, str]] = []
        self._counted: Counter[TestOutcome] | None = None
        self._hooks = 0
        self._is_in_failures = False

    def read_line(self, line: str) -> None:
        """Take in one line."""
        if self._is_in_failures:
            self._is_in_failures = not _NEXT_RUN.match(line)
        elif match := _PASSING.match(line):
            self.close_sums()
            self._counted = Counter({TestOutcome.PASSED: int(match[1])})
        elif self._counted is not None:
            self._read_sum(line)
        elif match := _TEST.match(line):
            self._read_test(match["indent"], match["name"], _read_mark(match["passed"], match["skipped"]))
        elif match := _SUITE.match(line):
            self._leave_suites(len(match["indent"]))
            self._suites.append((len(match["indent"]), match["name"]))

    def close_sums(self) -> None:
        """Compare the sums that were read last with the tests before them."""
        if self._counted is None:
            return
        self._counted[TestOutcome.FAILED] -= self._hooks
        self.tests.close_run(self._counted)
        self._counted, self._hooks = None, 0
        self._suites.clear()

    def _read_sum(self, line: str) -> None:
        if self._counted is None or not line.strip():
            return
        match = _MORE.match(line)
        if match is None:
            self._is_in_failures = self._counted[TestOutcome.FAILED] > 0
            self.close_sums()
        elif match[2] == "pending":
            self._counted[TestOutcome.SKIPPED] = int(match[1])
        else:
            self._counted[TestOutcome.FAILED] = int(match[1])

    def _read_test(self, indent: str, name: str, outcome: TestOutcome) -> None:
        self._leave_suites(len(indent))
        test_id = " > ".join((*(suite for _, suite in self._suites), name))
        if outcome == TestOutcome.FAILED and _HOOK.match(name):
            self._hooks += 1
            self.tests.tally.merge_outcome(f"{SET_UP_PREFIX}{test_id}", TestOutcome.ERROR)
        else:
            self.tests.add_test(test_id, outcome)

    def _leave_suites(self, indent: int) -> None:
        while self._suites and self._suites[-1][0] >= indent:
            self._suites.pop()


def _read_mark(passed: str | None, skipped: str | None) -> TestOutcome:
    if passed:
        return TestOutcome.PASSED
    if skipped:
        return TestOutcome.SKIPPED
    return TestOutcome.FAILED
