"""The result of every report parser, with the names and counts of tests."""

from collections.abc import Iterator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily

COLLECTION_PREFIX = "(collection) "
SET_UP_PREFIX = "(set-up) "
SUITE_PREFIX = "(suite) "
EXIT_CODE_ID = "(exit code)"
_STYLING = compile_lazily(r"\x1b\[[0-9;:]*[A-Za-z]")
WORST_FIRST = (
    *(TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED),
    *(TestOutcome.XFAILED, TestOutcome.XPASSED, TestOutcome.PASSED),
)


class ParsedReport(FrozenModel):
    """Test id → outcome, or None where nothing but the exit code is known.

    `problem` says what is wrong with the report itself: absent, cut off, malformed. The outcomes are then what could
    be read, so a test that is not among them may have run.
    """

    outcomes: dict[str, TestOutcome] | None = None
    problem: str = ""


def is_test_id(test_id: str) -> bool:
    """Return True if the id names a test, and not a module that cannot be imported, a class's set-up and such."""
    return not test_id.startswith((COLLECTION_PREFIX, SET_UP_PREFIX, SUITE_PREFIX, EXIT_CODE_ID))


class OutcomeTally:
    """Collects outcomes in the order reported."""

    def __init__(self) -> None:
        self.outcomes: dict[str, TestOutcome] = {}
        self._times: dict[str, int] = {}

    def add_test(self, test_id: str, outcome: TestOutcome) -> None:
        """Book one test; an id that was there before gets ` #2`, ` #3` and so on."""
        self._times[test_id] = times = self._times.get(test_id, 0) + 1
        name = test_id if times == 1 else f"{test_id} #{times}"
        while name in self.outcomes:
            self._times[test_id] = times = times + 1
            name = f"{test_id} #{times}"
        self.outcomes[name] = outcome

    def merge_outcome(self, test_id: str, outcome: TestOutcome) -> None:
        """Book one more outcome of the same test; the worst counts."""
        self.outcomes[test_id] = min(outcome, self.outcomes.get(test_id, outcome), key=WORST_FIRST.index)


def remove_styling(line: str) -> str:
    """Return a line of a tool's output without colours."""
    return _STYLING.sub("", line)


def iterate_plain_lines(text: str) -> Iterator[str]:
    """Return the lines of a test runner's output without colours and carriage returns."""
    return (remove_styling(line).rstrip("\r") for line in text.split("\n"))
