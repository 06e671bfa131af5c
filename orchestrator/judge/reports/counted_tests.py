"""The tests that a runner printed, held against the sums that it prints at its end."""

from collections import Counter
from dataclasses import dataclass, field

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.judge.reports.parsed_report import OutcomeTally, ParsedReport

SUMMED = {
    "passed": TestOutcome.PASSED,
    "failed": TestOutcome.FAILED,
    "skipped": TestOutcome.SKIPPED,
    "todo": TestOutcome.SKIPPED,
}
"""Words of runners' sums, each with its outcome; `todo` is left out, as skipped tests are."""


@dataclass
class CountedTests:
    """Tests read so far; those of the run that is not over yet are counted for its sums.

    A test can print a line as its runner does. Then there are more tests than the runner counts, and the problem says
    so. Who prints the sums as well is not seen.
    """

    runner: str
    tally: OutcomeTally = field(default_factory=OutcomeTally)
    problems: list[str] = field(default_factory=list)
    ended_runs: int = 0
    _listed: Counter[TestOutcome] = field(default_factory=Counter)

    @property
    def is_open(self) -> bool:
        """True if tests were read of a run that has not told its sums."""
        return bool(self._listed)

    def add_test(self, test_id: str, outcome: TestOutcome) -> None:
        """Book one test of the run that is under way."""
        self.tally.add_test(test_id, outcome)
        self._listed[outcome] += 1

    def close_run(self, counted: Counter[TestOutcome]) -> None:
        """Compare the tests of a run with what its runner counted."""
        differing = []
        for outcome in sorted(self._listed.keys() | counted.keys()):
            if self._listed[outcome] != counted[outcome]:
                differing.append(f"{counted[outcome]} {outcome} and {self._listed[outcome]} are listed")
        if differing:
            self.problems.append(
                f"{self.runner} counts {', '.join(differing)}: either its output does not tell each test, "
                "or a test prints lines as its runner does"
            )
        self.ended_runs += 1
        self._listed.clear()

    def build_report(self) -> ParsedReport:
        """Return what was read; output that ends without sums has been cut off."""
        if self.is_open:
            self.problems.append(f"the output of {self.runner} is cut off: its sums are missing")
        elif not self.ended_runs:
            self.problems.append(f"the output holds no run of {self.runner}")
        return ParsedReport(outcomes=self.tally.outcomes, problem="; ".join(dict.fromkeys(self.problems)))
