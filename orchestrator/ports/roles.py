"""The three roles as the engine sees them. Each takes a brief, speaks with a model and returns a domain type."""

from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import FIRST_LENS
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.judging.review import LensView, ReviewMaterial
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.run.contract import Contract, IterationVerdict
from orchestrator.domain.run.person_review import PersonReview
from orchestrator.domain.run.plan import Plan, PlanLimits
from orchestrator.domain.run.task import Attempt, EndCause, Exit, Handoff, Task, TaskStatus
from orchestrator.ports.hands import Workspace


class SessionFailure(FrozenModel):
    """The end of a role's session that did not give what was asked."""

    exit: Exit
    detail: str = ""


class TaskReport(FrozenModel):
    """The end of a task, as its planner is told; a judge of the whole is told the verdicts on it as well.

    `kept` is the ref of work that did not land.
    """

    task: Task
    status: TaskStatus
    reason: str = ""
    cause: EndCause | None = None
    handoff: Handoff | None = None
    paths: tuple[str, ...] = ()
    kept: str = ""
    verdicts: tuple[str, ...] = ()


class PlanningBrief(FrozenModel):
    """The brief of a planner. `reports` and `taken` are empty in its first round.

    `met` are the ids of criteria that the base met already, as far as the harness can tell. `review` is what a person
    said of the plan of the round before, which was sent back.
    """

    task: Task
    goal: str
    contract: Contract
    round: int
    limits: PlanLimits
    reports: tuple[TaskReport, ...] = ()
    taken: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    iteration: int = 1
    met: tuple[str, ...] = ()
    review: PersonReview | None = None


class ContextPiece(FrozenModel):
    """One thing that a model is shown: what it is in words, and its text, which is data. `label` marks it."""

    label: str
    title: str
    text: str


class FileBrief(FrozenModel):
    """The brief of the worker of one file of a migration.

    `recipe` and `description` say what is being changed everywhere, `instructions` are the step's own. `pieces` are
    what it is shown, `left_out` names what there was no room for, `note` is what a person says.
    """

    path: str
    recipe: str
    description: str = ""
    instructions: str = ""
    attempt: int = 1
    attempts: int = 1
    pieces: tuple[ContextPiece, ...] = ()
    left_out: tuple[str, ...] = ()
    note: str = ""


class WorkBrief(FrozenModel):
    """The brief of a worker; `file` where its task is one file of a migration."""

    task: Task
    attempt: Attempt
    goal: str
    gate: str
    file: FileBrief | None = None


class CheckSummary(FrozenModel):
    """One receipt in words, for a reviewer; `id` is how it can be cited."""

    id: str = ""
    check: str
    result: str
    receipt: str


class ReviewBrief(FrozenModel):
    """The brief of a reviewer: the task, what its lens shows of the change, and the receipts.

    It never holds the worker's own words. `notes` are what the harness noticed in the change.
    """

    task: Task
    number: int
    lens: str = FIRST_LENS
    view: LensView = LensView.DIFF
    shown: ReviewMaterial
    checks: tuple[CheckSummary, ...]
    notes: tuple[str, ...] = ()


class IterationBrief(FrozenModel):
    """The brief of the judge of an iteration. `again` counts how often it has to be judged anew.

    `citable` is what it can name as evidence: tasks, checks, receipts and files that changed. `flaky` are tests that
    were seen both ways on one tree, `forge` what the forge's checks of the pull request say.
    """

    goal: str
    number: int
    again: int = 0
    contract: Contract
    reports: tuple[TaskReport, ...]
    checks: tuple[CheckSummary, ...]
    diffstat: str
    flaky: tuple[str, ...] = ()
    forge: tuple[ForgeCheck, ...] = ()
    citable: tuple[str, ...] = ()


class Planner(Protocol):
    """Owns decisions, writes no code."""

    async def plan_slice(self, brief: PlanningBrief, workspace: Workspace) -> Plan | Handoff | SessionFailure:
        """Return a checked plan, or a handoff when the slice is finished."""


class Worker(Protocol):
    """Carries out one task in one workspace."""

    def get_model_name(self, variant: str | None) -> str:
        """Return the model that a variant of this worker runs on."""

    async def work_on_task(self, brief: WorkBrief, workspace: Workspace) -> Handoff | SessionFailure:
        """Return the worker's own report; the workspace holds the work."""


class Judge(Protocol):
    """The model lens of the judge. It may veto; it never turns red into green."""

    async def review_change(self, brief: ReviewBrief) -> LensVote:
        """Return a vote; `unreadable` when no answer could be understood."""

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionFailure:
        """Judge whether the contract is met."""


class Roles(Protocol):
    """The three together."""

    @property
    def planner(self) -> Planner:
        """The planner."""

    @property
    def worker(self) -> Worker:
        """The worker."""

    @property
    def judge(self) -> Judge:
        """The judge."""
