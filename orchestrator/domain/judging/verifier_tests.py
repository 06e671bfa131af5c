"""Tests that a verifier writes from a task without seeing the change: the files, and what became of them."""

from enum import StrEnum

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId
from orchestrator.domain.run.task import Exit
from orchestrator.domain.text.blob_text import Text


class BaseOutcome(StrEnum):
    """The outcome of tests on the base, as their verifier claims before the harness runs them there."""

    NEW_BEHAVIOUR = "new-behaviour"
    CHARACTERISATION = "characterisation"

    @property
    def description(self) -> str:
        """The outcome in words."""
        if self == BaseOutcome.NEW_BEHAVIOUR:
            return "red on the base"
        return "green on the base"


class VerifierFileKind(StrEnum):
    """The kind of a verifier's file: tests for the project's runner, or a shell script that uses the result."""

    TESTS = "tests"
    SCRIPT = "script"


class VerifierFile(FrozenModel):
    """A file of tests, or a script; `base_outcome` is how it ends on the base, by the word of its verifier.

    The `path` of a script is a bare name: it stands in no tree.
    """

    path: str
    base_outcome: BaseOutcome
    content: Text
    kind: VerifierFileKind = VerifierFileKind.TESTS


class TestFileProblem(FrozenModel):
    """The reason why a file of tests does not count; `path` is empty where it is about all of them."""

    path: str = ""
    problem: str


class TestsTrial(FrozenModel):
    """One submission of a verifier: its files, what is wrong with them on the base, and the receipts behind that."""

    __test__ = False  # pytest would take it for a test class

    files: tuple[VerifierFile, ...] = ()
    problems: tuple[TestFileProblem, ...] = ()
    receipts: tuple[str, ...] = ()

    @property
    def sound_files(self) -> tuple[VerifierFile, ...]:
        """The files with which nothing is wrong."""
        bad = {problem.path for problem in self.problems}
        return tuple(file for file in self.files if file.path not in bad)


class Contest(FrozenModel):
    """A worker's objection to a test: `test` as the evidence named it, with the attempt in which it was raised.

    `is_dropped` is the judge's decision, None while there is none.
    """

    number: int
    test: str
    why: str
    is_dropped: bool | None = None
    reasons: tuple[str, ...] = ()


class VerificationState(FrozenModel):
    """All that became of the verifier's work on one task.

    `base` is the commit that the tests were written for and tried on. `exit` is None while the verifier is at work.
    `is_waived` tells that a person had the task tried again that its verifier's tests refused: they do not count any
    more.
    """

    base: CommitId
    trials: tuple[TestsTrial, ...] = ()
    exit: Exit | None = None
    detail: str = ""
    files: tuple[VerifierFile, ...] = ()
    contests: tuple[Contest, ...] = ()
    is_waived: bool = False

    @property
    def dropped_tests(self) -> frozenset[str]:
        """The tests that a judge dropped, as they were contested."""
        return frozenset(contest.test for contest in self.contests if contest.is_dropped)

    @property
    def counting_files(self) -> tuple[VerifierFile, ...]:
        """The files whose tests a candidate has to pass."""
        if self.exit is None or self.is_waived:
            return ()
        return self.files


class VerifierFailures(FrozenModel):
    """The verifier's tests that are red on a candidate, with the receipts of their runs and what these printed."""

    tests: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    excerpt: str = Field("")
