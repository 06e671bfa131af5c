"""Events of a verifier: the tests that it writes for a task, what the base says of them, and who contests one."""

from orchestrator.domain.event.base import Event
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.verifier_tests import TestsTrial, VerifierFile
from orchestrator.domain.run.task import Exit


class VerificationStarted(Event, kind="verification.started"):
    """A verifier begins with a task, at the commit that its tests are tried on."""

    base: CommitId


class VerifierTestsTried(Event, kind="verification.tried"):
    """The harness ran on the base what a verifier submitted; what is wrong with it went back."""

    trial: TestsTrial


class VerificationEnded(Event, kind="verification.ended"):
    """The verifier is done with a task; `files` are those that end on the base as it claims."""

    exit: Exit
    detail: str = ""
    files: tuple[VerifierFile, ...] = ()


class TestContested(Event, kind="verification.contested"):
    """A worker says in attempt `number` that a verifier's test asks for what its task does not."""

    number: int
    test: str
    why: str


class ContestDecided(Event, kind="verification.contest-decided"):
    """A judge decided on a contested test: it stands, or is dropped. `model` is the judge's."""

    number: int
    test: str
    is_dropped: bool
    model: str
    reasons: tuple[str, ...] = ()
