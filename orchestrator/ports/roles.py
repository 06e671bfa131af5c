"""The roles as the engine sees them. Each takes a brief, speaks with a model and returns a domain type."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from orchestrator.domain.event.work import GrantDecided
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import FIRST_LENS, CommitId, TaskId
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.judging.review import LensView, ReviewMaterial
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.judging.verifier_tests import BaseOutcome, VerifierFileKind
from orchestrator.domain.memory.entry import GuideProposal
from orchestrator.domain.ownership.decisions import Decision
from orchestrator.domain.planning.plan_edits import PlanEdit
from orchestrator.domain.restart.restart_states import RestartState
from orchestrator.domain.run.contract import Contract, IterationVerdict
from orchestrator.domain.run.grant import Grant
from orchestrator.domain.run.person_review import PersonReview
from orchestrator.domain.run.plan import KeepPlan, Plan, PlanLimits
from orchestrator.domain.run.task import Attempt, EndCause, Exit, Handoff, Task, TaskStatus
from orchestrator.ports.hands import Workspace


class SessionFailure(FrozenModel):
    """The end of a role's session that did not give what was asked."""

    exit: Exit
    detail: str = ""


class TaskReport(FrozenModel):
    """The end of a task, as its planner is told; a judge of the whole is told the verdicts on it as well.

    `kept` is the ref of work that did not land, `attempts` how often it was tried, `clashes` where it did not go
    together with other work, in words.
    """

    task: Task
    status: TaskStatus
    reason: str = ""
    cause: EndCause | None = None
    handoff: Handoff | None = None
    paths: tuple[str, ...] = ()
    kept: str = ""
    attempts: int = 0
    clashes: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    is_news: bool = True


class PlanningBrief(FrozenModel):
    """The brief of a planner. In its first round there is nothing of what it planned before.

    `reports` are of its tasks that have ended; those that are no news it knows from an earlier round. `under_way` are
    the others, `taken` keys of tasks that it does not see any more. `rationales` are its own words of why it cut the
    work as it did, plan by plan. `decisions` are what it has to go by, `contradictions` say what it has to settle.

    `met` are the ids of criteria that the base met already, as far as the harness can tell. `review` is what a person
    said of the plan of the round before, which was sent back. `commit` is what its workspace holds. `has_baseline` is
    false while the gate still runs on the base, so that nobody knows its tests. `edits` are what people made of plans
    of earlier rounds, as far as the planner has not been told.
    """

    task: Task
    goal: str
    contract: Contract
    round: int
    limits: PlanLimits
    reports: tuple[TaskReport, ...] = ()
    under_way: tuple[TaskReport, ...] = ()
    taken: tuple[str, ...] = ()
    rationales: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    contradictions: tuple[str, ...] = ()
    rounds_left: int = 0
    reasons: tuple[str, ...] = ()
    iteration: int = 1
    met: tuple[str, ...] = ()
    review: PersonReview | None = None
    edits: tuple[PlanEdit, ...] = ()
    commit: CommitId | None = None
    has_baseline: bool = True


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


class GrantBrief(FrozenModel):
    """The brief of a planner that decides on a wish for grants; `number` counts those of the task from 1."""

    task: Task
    number: int
    wanted: tuple[Grant, ...]
    why: str


class ClashBrief(FrozenModel):
    """The two sides that an attempt brings together, for its worker or the arbiter.

    `paths` are the files that clash, none where the sides merge and are red together; `places` show where. `landed` are
    the tasks whose work landed meanwhile, `landed_change` is what they changed there, `own_change` what this task did.
    """

    paths: tuple[str, ...] = ()
    places: tuple[ContextPiece, ...] = ()
    landed: tuple[Task, ...] = ()
    landed_change: str = ""
    own_change: str = ""


class WorkBrief(FrozenModel):
    """The brief of a worker or the arbiter; `file` where its task is one file of a migration.

    `needed` are reports of the tasks that it depends on, `decisions` what others decided that it has to go by.

    `contestable` are the tests of a verifier that its last attempt failed and that nobody has contested yet. `clash`
    is there where the attempt goes on with work that did not go together with what had landed.
    """

    task: Task
    attempt: Attempt
    goal: str
    gate: str
    file: FileBrief | None = None
    contestable: tuple[str, ...] = ()
    needed: tuple[TaskReport, ...] = ()
    decisions: tuple[Decision, ...] = ()
    clash: ClashBrief | None = None


class CheckSummary(FrozenModel):
    """One receipt in words, for a reviewer; `id` is how it can be cited."""

    id: str = ""
    check: str
    result: str
    receipt: str


class ReviewBrief(FrozenModel):
    """The brief of a reviewer: the task, what its lens shows of the change, and the receipts.

    It never holds the worker's own words, but for `proposals` for the field guide, which say nothing of the change.
    `notes` are what the harness noticed in the change.
    """

    task: Task
    number: int
    lens: str = FIRST_LENS
    view: LensView = LensView.DIFF
    shown: ReviewMaterial
    checks: tuple[CheckSummary, ...]
    notes: tuple[str, ...] = ()
    proposals: tuple[GuideProposal, ...] = ()


class VerifierBrief(FrozenModel):
    """The brief of a verifier: a task as it was planned, and how the project is tested. No word of a worker is in it.

    `test_paths` are test files of the base, `examples` show some of them. `max_files` and `max_scripts` bound what it
    may write.
    """

    task: Task
    gate: str
    test_paths: tuple[str, ...] = ()
    examples: tuple[ContextPiece, ...] = ()
    max_files: int = 1
    max_scripts: int = 1


class ProposedFile(FrozenModel):
    """A file of tests, or a script, as a verifier proposes it; `base_outcome` is how it ends on the base."""

    path: str
    text: str
    base_outcome: BaseOutcome
    kind: VerifierFileKind = VerifierFileKind.TESTS


class ProposedTests(FrozenModel):
    """The tests that a verifier ends with; `summary` says what they show, or why there are none."""

    files: tuple[ProposedFile, ...] = ()
    summary: str = ""


TryTests = Callable[[Sequence[ProposedFile]], Awaitable[Sequence[str]]]
"""Runs files on the base and returns what has to be mended; nothing once they are taken as they are."""


class GoalBrief(FrozenModel):
    """The brief of a verifier that makes checks of a goal before anything is planned."""

    goal: str
    contract: Contract
    gate: str
    max_checks: int


class ProposedCheck(FrozenModel):
    """A check of the goal: in words, and by a `command`, or by a file of tests at `path`."""

    text: str
    command: str = ""
    path: str = ""
    test: str = ""


class ProposedChecks(FrozenModel):
    """The checks that a verifier ends with."""

    checks: tuple[ProposedCheck, ...] = ()


TryChecks = Callable[[Sequence[ProposedCheck]], Awaitable[Sequence[str]]]
"""Runs checks on the base and returns what has to be mended; nothing once they are taken as they are."""


class ContestBrief(FrozenModel):
    """The brief of a judge who decides on a contested test: the task, the test's file, the change, and who says what.

    `place` counts the contests of an attempt from 0. `why` are the worker's words, `printed` is what the test printed.
    """

    task: Task
    number: int
    place: int
    test: str
    file: str
    why: str
    change: str
    printed: str


class ContestRuling(FrozenModel):
    """The decision on a contested test; `model` is who made it."""

    is_dropped: bool
    reasons: tuple[str, ...] = ()
    model: str = ""


class RivalCandidate(FrozenModel):
    """The view that the judge has of a task that passed: its checks, what was noticed in its change, and the change.

    No word of its worker is in it. `lines` counts the lines that it adds and removes.
    """

    task: TaskId
    checks: tuple[CheckSummary, ...] = ()
    flags: tuple[str, ...] = ()
    files: int = 0
    lines: int = 0
    change: str = ""


class RivalBrief(FrozenModel):
    """The brief of a judge who chooses among tasks that try the same; `attempts` counts all attempts at them."""

    task: Task
    attempts: int
    candidates: tuple[RivalCandidate, ...]


class RivalRuling(FrozenModel):
    """The choice among tasks that try the same; `model` is who made it."""

    chosen: TaskId
    reasons: tuple[str, ...] = ()
    model: str = ""


class IterationBrief(FrozenModel):
    """The brief of the judge of an iteration. `again` counts how often it has to be judged anew.

    `citable` is what it can name as evidence: tasks, checks, receipts and files that changed. `flaky` are tests that
    were seen both ways on one tree, `forge` what the forge's checks of the pull request say,
    `states` those that a restart can begin again from, of which the first is the base. `proposals` are those for the
    field guide in reports of planners.
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
    states: tuple[RestartState, ...] = ()
    citable: tuple[str, ...] = ()
    proposals: tuple[GuideProposal, ...] = ()


class Planner(Protocol):
    """Owns decisions, writes no code."""

    async def plan_slice(
        self, brief: PlanningBrief, workspace: Workspace
    ) -> Plan | KeepPlan | Handoff | SessionFailure:
        """Return a checked plan, the word that it stays, or a handoff when the slice needs nothing more."""

    async def decide_grant(self, brief: GrantBrief) -> GrantDecided:
        """Return the decision on a wish for grants; it is in the ledger by then."""


class Worker(Protocol):
    """Carries out one task in one workspace."""

    def get_model_name(self, variant: str | None) -> str:
        """Return the model that a variant of this worker runs on, or the name of the guest that works in its place."""

    def get_engine_name(self, variant: str | None) -> str:
        """Return the engine of a variant; empty for the house's own loop."""

    async def work_on_task(self, brief: WorkBrief, workspace: Workspace) -> Handoff | SessionFailure:
        """Return the worker's own report; the workspace holds the work."""


class Judge(Protocol):
    """The model lens of the judge. It may veto; it never turns red into green."""

    async def review_change(self, brief: ReviewBrief) -> LensVote:
        """Return a vote; `unreadable` when no answer could be understood."""

    async def judge_iteration(self, brief: IterationBrief) -> IterationVerdict | SessionFailure:
        """Judge whether the contract is met."""

    async def judge_contest(self, brief: ContestBrief) -> ContestRuling | SessionFailure:
        """Decide if a contested test stands."""

    async def choose_rival(self, brief: RivalBrief) -> RivalRuling | SessionFailure:
        """Choose which of several tasks that try the same is to land."""


class Verifier(Protocol):
    """Writes tests from a task alone. They can keep a change from landing, and never let one land."""

    async def write_tests(
        self, brief: VerifierBrief, workspace: Workspace, try_tests: TryTests
    ) -> ProposedTests | SessionFailure:
        """Return the tests that it ends with; each submission was tried with `try_tests`."""

    async def propose_checks(
        self, brief: GoalBrief, workspace: Workspace, try_checks: TryChecks
    ) -> ProposedChecks | SessionFailure:
        """Return checks of a goal; each submission was tried with `try_checks`."""


class Roles(Protocol):
    """All roles together."""

    @property
    def planner(self) -> Planner:
        """The planner."""

    @property
    def worker(self) -> Worker:
        """The worker."""

    @property
    def arbiter(self) -> Worker:
        """The arbiter, who brings together what workers could not."""

    @property
    def judge(self) -> Judge:
        """The judge."""

    @property
    def verifier(self) -> Verifier:
        """The verifier."""
