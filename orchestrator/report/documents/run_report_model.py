"""JSON models of the report of a whole run: `orchestrate.run-report/1`."""

from typing import Any, Literal

from orchestrator.domain.ids import CommitId, SessionId, TaskId
from orchestrator.domain.judging.check import ReceiptStatus, TestCounts
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.judging.verdict import Verdict
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.task import AttemptMode, EndCause, Exit, TaskStatus
from orchestrator.report.cost.model import CostReport
from orchestrator.report.hosts.model import MachineRow
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.read_model import ReadModel
from orchestrator.report.run.model import PullRequestLink, RunFields
from orchestrator.report.task.attempt_fates import Fate

_LANDED = frozenset({TaskStatus.MERGED, TaskStatus.DONE})


class ReportedInterval(ReadModel):
    """An attempt or a planner's round, in seconds from the run's start; `end_s` is None while it goes on."""

    task: TaskId
    name: str
    is_planning: bool
    begin_s: float
    end_s: float | None


class ReportedReceipt(ReadModel):
    """A receipt with the first tests that it lost against the base; `more` counts the others.

    `counts` is None for a check that reports only its exit code, `again` for one that only the harness can run.
    """

    check: str
    command: str
    purpose: str
    status: ReceiptStatus
    exit_code: int | None
    seconds: float
    tree: str
    counts: TestCounts | None
    new_failures: tuple[str, ...]
    missing: tuple[str, ...]
    more: int
    again: str | None


class ReportedCandidate(ReadModel):
    """The snapshot of an attempt: its size, what was left out of it, and what a reviewer should look at."""

    commit: CommitId
    paths: tuple[str, ...]
    added: int
    removed: int
    dropped: tuple[str, ...]
    flagged: tuple[str, ...]


class ReportedAttempt(ReadModel):
    """An attempt and everything that was said of it; `exit` is None while it works."""

    number: int
    mode: AttemptMode
    model: str
    note: str
    fate: Fate
    exit: Exit | None
    summary: str
    candidate: ReportedCandidate | None
    ejected: tuple[str, ...]
    conflicts: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    def list_reasons(self) -> list[str]:
        """Return why it did not land, as far as anything was said of it."""
        reasons: list[str] = []
        for verdict in self.verdicts:
            reasons += verdict.reasons
        reasons += self.ejected
        if self.exit not in {None, Exit.FINISHED} and self.summary:
            reasons.append(f"{self.exit}: {self.summary}")
        return reasons


class ConversationExcerpt(ReadModel):
    """The last lines of a conversation, and how many came before."""

    session: SessionId
    model: str
    lines: tuple[str, ...]
    left_out: int


class ReportedTask(ReadModel):
    """A task of the tree; `price` and `tokens` are with all below it."""

    id: TaskId
    depth: int
    kind: Literal["leaf", "branch"]
    title: str
    outcome: str
    acceptance: tuple[str, ...]
    depends_on: tuple[TaskId, ...]
    status: TaskStatus
    cause: EndCause | None
    reason: str
    price: str
    tokens: int
    attempts: tuple[ReportedAttempt, ...]
    receipts: tuple[ReportedReceipt, ...]
    said: tuple[ConversationExcerpt, ...]

    @property
    def indented_id(self) -> str:
        """Its id, two spaces in for each level of the tree."""
        return "  " * self.depth + self.id

    @property
    def has_landed(self) -> bool:
        """True if it is merged, or done with all below it."""
        return self.status in _LANDED

    @property
    def status_text(self) -> str:
        """The status in the word that people read."""
        return self.status.word


class ReportedWords(ReadModel):
    """What a person said to a task; `reached` tells where it was heard, empty if nobody did."""

    task: str
    by: str
    text: str
    reached: str

    @property
    def reached_text(self) -> str:
        """Where it was heard, in words."""
        return self.reached or "nobody: no conversation about the task took place after it"


class ReportedPlanEdit(ReadModel):
    """What a person made of the plan of a planner's round before its tasks began; `changes` in words."""

    task: str
    round: int
    by: str
    changes: tuple[str, ...]

    @property
    def change_text(self) -> str:
        """All changes in one line."""
        return "; ".join(self.changes)


class RunReport(RunFields, schema="orchestrate.run-report/1"):
    """The output of `report --data`, of which all forms of the report are made: the result with everything behind it.

    `settings` are those that the run began with, `settings_changed` what later resumes gave.
    """

    repository: str
    target: str
    started_at: str
    last_at: str | None
    iterations_judged: tuple[IterationVerdict, ...]
    words: tuple[ReportedWords, ...] = ()
    plan_edits: tuple[ReportedPlanEdit, ...] = ()
    timeline: tuple[ReportedInterval, ...]
    tasks_by_tree: tuple[ReportedTask, ...]
    contract_receipts: tuple[ReportedReceipt, ...]
    cost: CostReport
    migration: MigrationReport | None
    reproduce: tuple[str, ...]
    versions: tuple[str, ...]
    settings: dict[str, Any]
    settings_changed: tuple[dict[str, Any], ...]

    @property
    def pull_requests(self) -> tuple[PullRequestLink, ...]:
        """The pull requests of a migration's groups, or the one of the run."""
        if self.pr and not self.prs:
            return (self.pr,)
        return self.prs

    @property
    def host_rows(self) -> list[MachineRow]:
        """The machines that carried the run; none where no host joined it."""
        if self.hosts is None:
            return []
        return self.hosts.list_machines()

    @property
    def forge_checks(self) -> tuple[ForgeCheck, ...]:
        """The forge's checks of the pull request; none where nobody waited for them."""
        if self.checks is None:
            return ()
        return self.checks.checks
