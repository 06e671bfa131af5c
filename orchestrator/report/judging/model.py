"""JSON models of the report on judging."""

from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.report.cost.model import Amount
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.run.model import FlakyTest


class LensFigures(ReadModel):
    """The accuracy of a lens with one model. A rate is None where its basis is too small.

    `undecided` approvals are of changes that nothing is known of yet.
    """

    lens: str
    model: str
    votes: int
    approvals: int
    vetoes: dict[str, int]
    unreadable: int
    undecided: int
    escaped: int
    escapes: dict[str, int]
    escape_rate: float | None
    false_vetoes: int
    false_veto_rate: float | None
    spent: Amount
    usd_per_vote: float | None


class VerdictCounts(ReadModel):
    """Verdicts by kind, and those with a cause by their cause."""

    kinds: dict[str, int]
    causes: dict[str, int]


class TaskEndCount(ReadModel):
    """The number of leaf tasks that ended in one way."""

    status: TaskStatus
    cause: EndCause | None
    tasks: int


class AttemptCounts(ReadModel):
    """Merged tasks by the number of attempts they took, and the mean; None where none merged."""

    per_merged_task: float | None
    merged_tasks: dict[str, int]


class ReceiptCounts(ReadModel):
    """Checks that were run, their seconds, and runs that an existing receipt replaced."""

    run: int
    reused: int
    seconds: float


class JudgingReport(Document, schema="orchestrate.report/1"):
    """The output of `report`: what judging came to, in one run or in many."""

    runs: tuple[RunId, ...]
    task: TaskId | None
    least_basis: int
    lenses: tuple[LensFigures, ...]
    verdicts: VerdictCounts
    ends: tuple[TaskEndCount, ...]
    attempts: AttemptCounts
    receipts: ReceiptCounts
    flaky: tuple[FlakyTest, ...]
