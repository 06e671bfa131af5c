"""JSON models of the result and the status of a run."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from orchestrator.domain.ids import CommitId, RunId, TaskId, UnitId
from orchestrator.domain.judging.check import TestCounts
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.run.width import WidthCause
from orchestrator.domain.run_outcome import ShownOutcome
from orchestrator.domain.sandbox.policy_violation import PolicyViolation
from orchestrator.report.cost.model import AccountUsage, BudgetUsage, Dollars, EarlierCosts
from orchestrator.report.hosts.model import HostsSummary
from orchestrator.report.migration.burndown_model import Burndown
from orchestrator.report.read_model import Document, Omittable, ReadModel
from orchestrator.report.rows.agent_row import FleetEntry
from orchestrator.report.run.condition import ConditionSummary
from orchestrator.report.run.left_lines import LeftIteration

"""The outcome of a run, or what it does while it has none."""
_DETAILED = frozenset({"partial", "blocked", "failed", "nothing-changed"})
"""Outcomes of which the recorded reason says more than the sentence: words of models, or tests that are red."""
_CRITERION_STATES = {True: "✓ met", False: "✗ not met", None: "· not judged"}


def select_details(outcome: str, reason: str) -> str:
    """Return the recorded reason of an outcome, where it says more than the sentence of that outcome."""
    if outcome in _DETAILED:
        return reason
    return ""


class CriterionResult(Criterion, ReadModel):
    """A criterion and what the newest verdict says of it; `met` is None before the first verdict.

    `exit_on_base` and `exit` are exit codes of its command, None without one.
    """

    met: bool | None
    evidence: str
    receipt: str
    exit_on_base: int | None
    exit: int | None

    @property
    def state_text(self) -> str:
        """The verdict in words."""
        return _CRITERION_STATES[self.met]

    @property
    def mark(self) -> str:
        """The sign before the words of the verdict."""
        return _CRITERION_STATES[self.met][0]

    @property
    def exit_codes(self) -> str:
        """The exit codes of its command, `1 → 0`; empty where it has none."""
        if self.exit is None:
            return ""
        before = self.exit_on_base
        if before is None:
            return f"? → {self.exit}"
        return f"{before} → {self.exit}"


class LeftFile(ReadModel):
    """A file that did not land, and why; files of a migration have a signature that equal failures share."""

    path: str
    reason: str
    signature: Omittable[str] = None


class RunFiles(ReadModel):
    """Files by what became of them. Only migrations have those that are `Omittable`."""

    in_scope: Omittable[int] = None
    changed: int
    landed: tuple[str, ...]
    rejected: tuple[LeftFile, ...]
    unchanged: Omittable[tuple[LeftFile, ...]] = None
    needs_human: Omittable[tuple[LeftFile, ...]] = None
    skipped: Omittable[tuple[LeftFile, ...]] = None
    reverted: Omittable[tuple[LeftFile, ...]] = None


class RejectedUnion(ReadModel):
    """The first union of changes that the gate refused: its size, and how many tests it would have broken."""

    units: int
    new_failures: int
    missing_tests: int


class GateComparison(ReadModel):
    """The gate on the base and on what landed; counts are None where checks report only exit codes.

    `new_failures` and `missing_tests` are of what landed, so both are empty unless something is badly wrong.
    """

    command: str
    baseline: TestCounts | None
    head: TestCounts | None
    new_failures: tuple[str, ...]
    missing_tests: tuple[str, ...]
    rejected_union: RejectedUnion | None


class FlakyTest(ReadModel):
    """A test that passed and failed on one tree, and on how many trees that was seen."""

    test: str
    seen: int


class ClashingFile(ReadModel):
    """A file in whose lines work clashed with what had landed, and how many candidates did."""

    path: str
    clashes: int


class ClashAhead(ReadModel):
    """Attempts at work whose changes would conflict in `paths`; with what has landed where `other` is None."""

    unit: UnitId
    other: UnitId | None
    paths: tuple[str, ...]


class RunSpending(Dollars):
    """The resources that a run used; dollars are None where part of them is unknown, `wall_s` is in seconds."""

    unpriced_calls: int
    possibly_billed_calls: int
    at_risk_usd: float | None
    at_risk_tokens: int
    tokens: int
    calls: int
    wall_s: float


class GateRunRates(ReadModel):
    """Runs for each task that landed: of the whole gate, and of a part of it or another check."""

    whole: float
    partial: float


class PullRequestLink(ReadModel):
    """A pull request: its name on its forge, and where a person reads it."""

    forge: str
    ref: str
    url: str

    @property
    def subject(self) -> str:
        """The group of files that it is of, or `all`."""
        return "all"

    @property
    def place(self) -> str:
        """Where a person finds it: its URL, or else its name."""
        return self.url or self.ref


class GroupPullRequest(PullRequestLink):
    """One of several pull requests of a migration."""

    group: str
    branch: str
    head: str

    @property
    def subject(self) -> str:
        """The group of files that it is of, or `all`."""
        return self.group or super().subject


class ForgeChecksResult(ReadModel):
    """The checks of a forge on a commit as they were seen last, in words as well."""

    commit: str
    words: str
    waiting: bool
    checks: tuple[ForgeCheck, ...]


class MergeResult(ReadModel):
    """The merge of a pull request: its commit, and the commit of the target since."""

    ref: str
    commit: str
    target: str


class RunFields(Document):
    """The fields that the result and the status of a run share.

    `sentence` is the outcome with its cause, `next` a command to type and what it does; empty while nobody is needed.
    `condition` is what the run does in the words that people read. `exit` is the exit code, None while the run works.
    `tasks` counts leaf tasks by every status. `causes` counts why they ended without landing. `flaky` begins with the
    test seen on most trees, `clashing` with the file in which work clashed most often; `clashes_ahead` are those that
    work under way would come to. `pr` is the pull request opened last; `prs` are all of a migration that has one for
    each group. `checks` is None if nobody waited for any, `merged` if nothing was merged. `merge_by` says how a person
    merges what landed: a line for a shell, or where. `receipts_taken_over` counts runs of checks that those of earlier
    runs stand for, which `test_runs` does not. `left_behind` are iterations that restarts left. `attempted` lists
    what agents tried beyond their walls. `hosts` are the machines that carried it; a run that no host joined has none.
    """

    run: RunId
    mode: Literal["goal", "migration"]
    name: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    unsafe: bool
    goal: str
    outcome: ShownOutcome
    sentence: str = ""
    next: str = ""
    condition: ConditionSummary
    reason: str
    exit: int | None
    base: CommitId
    pr_branch: str
    head: CommitId | None
    iterations: int
    contract: tuple[CriterionResult, ...]
    tasks: Annotated[dict[TaskStatus, int], Field(min_length=len(TaskStatus))]
    causes: dict[EndCause, int]
    files: RunFiles
    gate: GateComparison
    flaky: tuple[FlakyTest, ...]
    clashing: tuple[ClashingFile, ...] = ()
    clashes_ahead: tuple[ClashAhead, ...] = ()
    test_runs: int
    receipts_taken_over: int = 0
    gate_runs: GateRunRates | None = None
    spent: RunSpending
    pr: PullRequestLink | None
    checks: ForgeChecksResult | None
    merged: MergeResult | None
    merge_by: str = ""
    prs: tuple[GroupPullRequest, ...]
    hosts: Omittable[HostsSummary] = None
    left_behind: tuple[LeftIteration, ...] = ()
    attempted: tuple[PolicyViolation, ...]
    notices: tuple[str, ...]
    journal: str

    @property
    def details(self) -> str:
        """The recorded reason, where it says more than the sentence."""
        return select_details(self.outcome, self.reason)


class RunResult(RunFields, schema="orchestrate.result/1"):
    """The output of `run` and `migrate run`: the outcome of a run, or how far it has come."""


class StartedRun(Document, schema="orchestrate.started/1"):
    """The output of a verb that leaves a run to an engine in the background."""

    outcome: Literal["started"] = "started"
    run: RunId
    journal: str


class RunFailure(Document, schema="orchestrate.error/1"):
    """The output of a verb whose run could not be started."""

    outcome: Literal["not-started"] = "not-started"
    error: str
    exit: int


class PlannedAttempt(ReadModel):
    """One attempt at a task."""

    number: int
    mode: str
    model: str


class PlannedVerdict(ReadModel):
    """The verdict on an attempt."""

    attempt: int
    kind: VerdictKind
    cause: str | None


class PlannedTask(ReadModel):
    """A task of the plan; `budget` holds what it and all below it spent and may spend."""

    id: TaskId
    parent: TaskId | None
    depth: int
    kind: Literal["leaf", "branch"]
    title: str
    status: TaskStatus
    reason: str
    cause: EndCause | None
    depends_on: tuple[TaskId, ...]
    attempts: tuple[PlannedAttempt, ...]
    verdicts: tuple[PlannedVerdict, ...]
    calls: int
    tokens: int
    budget: AccountUsage


class LandedUnits(ReadModel):
    """Units that landed together, and the commit that did it."""

    commit: str
    units: tuple[str, ...]


class WorkersAtOnce(ReadModel):
    """The workers that may be at work, of those that are allowed; `cause` is why these are not all."""

    allowed: int
    now: int
    cause: WidthCause | None = None
    subject: str = ""


class DiskSizes(ReadModel):
    """Bytes of all runs' state by kind; at least so many where not everything was looked at (`is_whole`)."""

    journals: int = 0
    blobs: int = 0
    logs: int = 0
    worktrees: int = 0
    is_whole: bool = False
    total: int = 0


class RunStatus(RunFields, schema="orchestrate.status/1"):
    """The output of `status`: the result so far, the plan, budgets, and for a migration its `burndown`.

    `seq` is the last event it knows. `questions` are the ids of those that wait for a person. `is_live` and `disk`
    are what the reader measures: the journal does not hold them. A run is `unlimited` if it calls models and no budget
    bounds dollars, tokens or calls; until it ends, `earlier` is what others cost. With a `filter` it has the rows of
    the `fleet` that fit, of `fleet_of` in all.
    """

    model_config = ConfigDict(extra="forbid")  # so that a status which another version stored is derived anew

    is_live: bool = False
    seq: int
    budget: BudgetUsage
    unlimited: bool = False
    earlier: EarlierCosts | None = None
    plan: tuple[PlannedTask, ...]
    file_status: dict[FileStatus, int]
    steps: dict[str, float]
    trials: int
    landings: tuple[LandedUnits, ...]
    burndown: Omittable[Burndown] = None
    models: tuple[str, ...]
    questions: tuple[str, ...] = ()
    workers: Omittable[WorkersAtOnce] = None
    disk: DiskSizes = DiskSizes()
    filter: Omittable[str] = None
    fleet: Omittable[tuple[FleetEntry, ...]] = None
    fleet_of: Omittable[int] = None
