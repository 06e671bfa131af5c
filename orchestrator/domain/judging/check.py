"""Checks that the harness runs itself, and the receipts they leave."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId, TreeId, parse_check_name
from orchestrator.domain.sandbox.world import World
from orchestrator.domain.text.blob_text import Text


class ReportFormat(StrEnum):
    """The format in which a check reports the outcome of each test."""

    AUTO = "auto"
    JUNIT = "junit"
    TAP = "tap"
    PYTEST_RA = "pytest-rA"
    UNITTEST = "unittest"
    CARGO = "cargo"
    GO = "go"
    JEST = "jest"
    VITEST = "vitest"
    MOCHA = "mocha"
    EXIT_CODE = "exit-code"


class TestOutcome(StrEnum):
    """The outcome of one test. An error is a failure outside the test's own body: set-up, collection, import."""

    __test__ = False  # pytest would take it for a test class

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"

    @property
    def is_red(self) -> bool:
        """True if the test tells that something is broken."""
        return self in {TestOutcome.FAILED, TestOutcome.ERROR}


PASSED_OUTCOMES = frozenset({TestOutcome.PASSED, TestOutcome.XPASSED})
Outcomes = Mapping[str, TestOutcome]
"""Test id → outcome."""


CANARY_CHECK = "canary"
"""The id of a check of old journals, which ran the harness's own tests instead of a project's."""
NEW_TESTS_CHECK = "new-tests"
"""The id of the gate's check where it runs on a base with the tests that a change adds."""
REPEATS_CHECK = "repeats"
"""The id of the gate's check where tests are run many times over in one process (`orchestrator.judge.repeats`)."""
MUTANTS_CHECK = "mutants"
"""The id of the gate's check where tests run on a change with one place altered at a time
(`orchestrator.judge.mutation`); its outcomes are those of mutants, a failure if a test noticed."""
SELECTED_CHECK = "selected"
"""The id of the gate's check where it runs only the files of tests that a change concerns (`judge.selection`)."""
NARROW_CHECK = "narrow"
"""The id of a check where it runs once more only the tests that were seen red."""
VERIFIER_CHECK = "verifier-tests"
"""The id of the gate's check where it runs the tests that a verifier wrote."""
SCRIPT_CHECK = "verifier-script"
"""The id of a check that is a script of a verifier's."""
OLD_TESTS_CHECK = "old-tests"
"""The id of the gate's check where it runs on a candidate with the base's versions of tests that were rewritten."""
GATE_VARIANTS: Mapping[str, str] = {
    SELECTED_CHECK: "only the tests that the change concerns",
    NARROW_CHECK: "only the tests in doubt, once more",
    REPEATS_CHECK: "tests that reach the change, many times over in one process",
    MUTANTS_CHECK: "with one place of the change altered at a time: failed where a test noticed, passed where none did",
    CANARY_CHECK: "with tests of the harness in place of the project's: one that must pass, the others must fail",
    NEW_TESTS_CHECK: "on the base, with the tests that the change adds",
    OLD_TESTS_CHECK: "with the base's versions of tests that the change rewrites",
    VERIFIER_CHECK: "with the tests that a verifier wrote from the task",
    SCRIPT_CHECK: "a script by which a verifier uses the result, twice, outside any test run",
}
"""Runs of the gate's command that say little of the candidate's tests as a whole: check id → description."""


class CheckSpec(FrozenModel):
    """A command with its time limit; `{report}` in it stands for the path of the report it writes."""

    id: str
    run: str
    report: ReportFormat = ReportFormat.AUTO
    timeout_s: float = 1_800.0


class TestCounts(FrozenModel):
    """Numbers of tests by outcome; expected failures count as passed, unexpected passes too."""

    __test__: ClassVar[bool] = False  # pytest would take it for a test class

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @classmethod
    def count_outcomes(cls, outcomes: Iterable[TestOutcome]) -> "TestCounts":
        """Return the number of tests by outcome."""
        n = Counter(outcomes)
        return cls(
            passed=n[TestOutcome.PASSED] + n[TestOutcome.XFAILED] + n[TestOutcome.XPASSED],
            failed=n[TestOutcome.FAILED],
            errors=n[TestOutcome.ERROR],
            skipped=n[TestOutcome.SKIPPED],
        )

    @property
    def total(self) -> int:
        """The number of tests that reported an outcome."""
        return self.passed + self.failed + self.errors + self.skipped

    def __add__(self, other: "TestCounts") -> "TestCounts":
        counts = other.model_dump()
        return TestCounts(**{name: count + counts[name] for name, count in self.model_dump().items()})


class ReceiptStatus(StrEnum):
    """The end of the command itself. Everything but `completed` is infrastructure until it repeats."""

    COMPLETED = "completed"
    TIMED_OUT = "timed-out"
    OUTPUT_LIMIT = "output-limit"
    KILLED = "killed"
    NOT_STARTED = "not-started"


_ENDINGS = {
    ReceiptStatus.TIMED_OUT: "timed out",
    ReceiptStatus.OUTPUT_LIMIT: "printed too much",
    ReceiptStatus.KILLED: "killed",
    ReceiptStatus.NOT_STARTED: "not started",
}


class ReceiptOrigin(FrozenModel):
    """The run that made a receipt which another run took over, and its key there."""

    run: RunId
    key: str


class Receipt(FrozenModel):
    """The record of one run of a check on one tree.

    `tests` is the sha of a blob that holds test id → outcome as JSON, or None where the check reports only an
    exit code. `trace` is the sha of a blob with a `RunTrace`, None where nobody looked.
    `problem` says what is wrong with the report itself, or what the command was killed for. `narrows` is the check of
    whose tests it ran only those in doubt.
    `environment` hashes what besides the tree decides the outcome. `seconds` is wall time. `argv` is the sha256 of
    the line that the shell was given, with what the harness put before the command; old journals do not have it.
    `world` is what the command saw of machine and user, drawn for this run; None where it saw the machine itself.
    `origin` says which earlier run made it, None where it is this run's own.
    """

    key: str
    check: str
    command: str
    argv: str = ""
    tree: TreeId
    environment: str
    status: ReceiptStatus
    exit_code: int | None
    seconds: float
    counts: TestCounts = Field(default_factory=TestCounts)
    tests: str | None = None
    trace: str | None = None
    problem: str = ""
    narrows: str | None = None
    output: Text = Field(default_factory=Text)
    world: World | None = None
    origin: ReceiptOrigin | None = None

    @property
    def kind(self) -> str:
        """The id of its check, without the hash of what defines that."""
        return parse_check_name(self.check)

    @property
    def shows_own_tests(self) -> bool:
        """True if it tells how the tests of the gate end on its tree, all of them or those that a change concerns."""
        return self.kind == SELECTED_CHECK or self.kind not in GATE_VARIANTS

    @property
    def ending_text(self) -> str:
        """The end of the command: its exit code, or what ended it."""
        return _ENDINGS.get(self.status, f"exit {self.exit_code}")

    @property
    def outcome_text(self) -> str:
        """How many tests ended how; the end of the command where the check reports no tests."""
        if self.tests is None:
            return self.ending_text
        counts = self.counts
        return f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors, {counts.skipped} skipped"


class TestLooks(FrozenModel):
    """The number of looks at which a test was red on a tree and on its base, with the decision of a sequential test.

    `base_runs` is 0 where the base does not have the test.
    """

    __test__: ClassVar[bool] = False  # pytest would take it for a test class

    test: str
    red: int
    runs: int
    base_red: int = 0
    base_runs: int = 0
    decision: Literal["innocent", "guilty", "undecided"] = "undecided"

    @property
    def rates_text(self) -> str:
        """The rates at which it failed here and on the base, in words."""
        here = f"fails in {self.red} of {self.runs} runs of this tree"
        if not self.base_runs:
            return f"{here}; the base does not have it"
        if not self.base_red:
            return f"{here}, never in {self.base_runs} of the base"
        return f"{here}, in {self.base_red} of {self.base_runs} of the base"


class Difference(FrozenModel):
    """The losses of a candidate's outcomes against the baseline. Green is when nothing was lost and something ran.

    `flaky` are tests that were seen both ways on this very tree. `unsettled` are those of them that are all that is
    red, of which the looks that were allowed do not tell who is to blame: nothing can land. `looks` has the tests that
    were looked at again, with their failure rates.
    """

    new_failures: tuple[str, ...] = ()
    missing_tests: tuple[str, ...] = ()
    newly_skipped: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()
    looks: tuple[TestLooks, ...] = ()

    @property
    def is_green(self) -> bool:
        """True if the candidate may land as far as the tests go."""
        return not (self.unsettled or self.new_failures or self.is_red_otherwise)

    @property
    def is_unsettled(self) -> bool:
        """True if nothing is known to be wrong, and nothing to be right."""
        return bool(self.unsettled) and not (self.new_failures or self.is_red_otherwise)

    @property
    def lost_tests(self) -> tuple[str, ...]:
        """The tests that were green on the baseline, or at least there, and are not any more."""
        return (*self.new_failures, *self.missing_tests, *self.newly_skipped)

    @property
    def needs_rerun(self) -> bool:
        """True if tests that fail are all that is red, so that another run may be green."""
        return bool(self.unsettled or self.new_failures) and not self.is_red_otherwise

    @property
    def is_red_otherwise(self) -> bool:
        """True if something else is red than tests that fail."""
        return bool(self.missing_tests or self.newly_skipped or self.problems)

    def __add__(self, other: "Difference") -> "Difference":
        sums = {name: lost + getattr(other, name) for name, lost in self}
        for name in ("flaky", "unsettled"):
            sums[name] = tuple(dict.fromkeys(sums[name]))
        return Difference(**sums)
