"""The state of a run: the fold of its events. Only `fold_events` makes and changes it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar

from orchestrator.domain import ids
from orchestrator.domain.commands.definitions import Retry
from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.forge import ChecksSeen, PrMerged, PrMerging
from orchestrator.domain.event.landing import ClashForeseen, LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.event.run import Noticed, PrOpened, RunEnded, RunPaused, RunStarted
from orchestrator.domain.event.work import AttemptEnded, CandidateTaken, GrantDecided, VerdictGiven
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.hosts.table import HostTable
from orchestrator.domain.identity import AgentIdentity
from orchestrator.domain.ids import CommitId, SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import CANARY_CHECK, Receipt
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.judging.verifier_tests import VerificationState
from orchestrator.domain.memory.entry import MemoryState
from orchestrator.domain.ownership.decisions import Decision
from orchestrator.domain.run.approval import ApprovalMatter, ApprovalState
from orchestrator.domain.run.closed_questions import explain_closed_question
from orchestrator.domain.run.goal_state import GoalState
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.spend_state import SpendState
from orchestrator.domain.run.task import Attempt, EndCause, Handoff, Task, TaskStatus
from orchestrator.domain.run.width import Width
from orchestrator.domain.sandbox.policy_violation import PolicyViolation
from orchestrator.domain.tables.landed_units import LandedUnitSet
from orchestrator.domain.tables.task_index import TaskIndex, TaskTable
from orchestrator.domain.tables.watched_table import TableChanges, WatchedTable


class TaskState(FrozenModel):
    """A task with all that happened to it. The tuples grow by attempt; `rounds` counts a planner's rounds."""

    spec: Task
    status: TaskStatus = TaskStatus.PLANNED
    attempts: tuple[Attempt, ...] = ()
    identities: tuple[AgentIdentity, ...] = ()
    ends: tuple[AttemptEnded, ...] = ()
    candidates: tuple[CandidateTaken, ...] = ()
    verdicts: tuple[VerdictGiven, ...] = ()
    ejections: tuple[UnitEjected, ...] = ()
    rounds: int = 0
    rationales: tuple[str, ...] = ()
    """A planner's own words of why it cut the work as it did, plan by plan."""
    seen_ends: int = 0
    """`RunState.end_count` when the planner's last round began: what ended later is news to it."""
    seen_ends_before: int = 0
    """The same for the round before: what ended since then is what the last round was told as new."""
    began_with_baseline: bool = False
    """True if the gate's run on the base was known when the planner's last round began."""
    landed_before: int = 0
    """The tasks below that had landed when the planner's last round began."""
    seen_contradictions: frozenset[str] = frozenset()
    """The contradictions that it had to settle when its last round began, by the ids of the decisions."""
    is_finished: bool = False
    """True if the planner said that it needs nothing more, while tasks of it were still at work."""
    is_chosen: bool = False
    """True if it was chosen among its rivals: it alone of them lands."""
    end_number: int = 0
    """The number of its own last end among all ends of tasks in the run, from 1; 0 while it has not ended."""
    uncounted_rounds: int = 0
    """The rounds of a planner that count against no limit.

    A person sent the plan back, or work had landed since the round before; of those that began while tasks of it were
    at work (`interim_rounds`) each third counts.
    """
    interim_rounds: int = 0
    grant_decisions: tuple[GrantDecided, ...] = ()
    """The answers to its wishes for grants; what was allowed is in `spec.grants` by then."""
    handoff: Handoff | None = None
    reason: str = ""
    cause: EndCause | None = None
    retry: Retry | None = None
    """A person's request, until the attempt that it leads to begins."""
    earlier_attempts: int = 0
    """The number of attempts before a person last had it tried again: those count against no limit."""
    verification: VerificationState | None = None
    """The work of its verifier; None where there is none yet."""

    @property
    def is_counted(self) -> bool:
        """True if it counts among the tasks of workers; a rival that was not chosen does not."""
        return self.spec.kind == "leaf" and self.cause != EndCause.NOT_CHOSEN

    @property
    def waits_for_choice(self) -> bool:
        """True if it has rivals and was not chosen among them, or not yet: then it does not land."""
        return self.spec.rival_of is not None and not self.is_chosen

    @property
    def plan_grants(self) -> tuple[AnyGrant, ...]:
        """The grants of the plan and of people, without those that were given because the work asked for them."""
        given = list(self.spec.grants)
        for decided in self.grant_decisions:
            for grant in decided.grants:
                if decided.is_allowed and grant in given:
                    given.remove(grant)
        return tuple(given)

    @property
    def attempt(self) -> Attempt | None:
        """The latest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def candidate(self) -> CandidateTaken | None:
        """The candidate of the latest attempt, if it has one."""
        return _pick_last(self.candidates, self._attempt_number)

    @property
    def own_candidate(self) -> CandidateTaken | None:
        """The candidate of the latest attempt as its worker left it, without tests of the verifier."""
        own = [candidate for candidate in self.candidates if not candidate.verifier_tests]
        return _pick_last(own, self._attempt_number)

    @property
    def verdict(self) -> VerdictGiven | None:
        """The verdict on the latest attempt, if there is one."""
        return _pick_last(self.verdicts, self._attempt_number)

    @property
    def unit(self) -> UnitId:
        """The name of the latest attempt in the queue."""
        return ids.build_unit_id(self.spec.id, self._attempt_number)

    @property
    def ejection(self) -> UnitEjected | None:
        """The queue's reason for ejecting the latest attempt, if it did, and no judge has refused that since."""
        if not self.ejections or self.ejections[-1].unit != self.unit:
            return None
        is_refused = self.verdict is not None and self.verdict.verdict.kind != VerdictKind.MERGE
        return None if is_refused else self.ejections[-1]

    @property
    def _attempt_number(self) -> int:
        return self.attempt.number if self.attempt else 0


_OfAttempt = TypeVar("_OfAttempt", CandidateTaken, VerdictGiven)


def _pick_last(found: Sequence[_OfAttempt], number: int) -> _OfAttempt | None:
    """Return the last one if it is of this attempt."""
    return found[-1] if found and found[-1].number == number else None


@dataclass(slots=True)
class RunState:
    """The projection of one journal. `seq` is the last event it has seen.

    Models are named as they were asked for. `…_by_node` hold what a task and all its descendants spent; `at_risk` is
    what calls may have cost whose end nobody knows; `begun_s`, `ended_s` are `wall_s` when work at a task began, ended.
    """

    seq: int = 0
    epoch: int = 0
    epoch_at: datetime | None = None
    last_at: datetime | None = None
    earlier_s: float = 0.0
    settled_s: float = 0.0
    """`wall_s` when the last engine started: no clock that is set makes it less again."""
    started: RunStarted | None = None
    paused: RunPaused | None = None
    ended: RunEnded | None = None
    is_draining: bool = False
    baseline: tuple[str, ...] = ()
    pr: PrOpened | None = None
    """The pull request that was opened last, unless it was closed since."""
    forge_checks: ChecksSeen | None = None
    """The forge's latest checks of the commit that the pull request asks to merge."""
    forge_checks_since: datetime | None = None
    """Since when these are waited for; None where nobody waits, or a pause ended that."""
    merging: PrMerging | None = None
    merged: PrMerged | None = None
    """The merge that was begun last, and the one that was done last."""
    goal: GoalState = field(default_factory=GoalState)
    migration: MigrationState = field(default_factory=MigrationState)
    spend: SpendState = field(default_factory=SpendState)
    hosts: HostTable = field(default_factory=HostTable)
    notices: tuple[Noticed, ...] = ()
    approvals: dict[str, ApprovalState] = field(default_factory=WatchedTable)
    taken_commands: dict[str, str] = field(default_factory=dict)
    """By key, every command that was taken from the inbox, with why it was refused."""
    overrides: tuple[dict[str, Any], ...] = ()
    """Settings that people changed since the run began, in order."""
    user_pause: str | None = None
    """The person who paused the run and the reason; nothing begins before it is continued."""
    cancel_reason: str = ""
    """The person who gave up the whole run and the reason."""
    tasks: dict[TaskId, TaskState] = field(default_factory=TaskTable)
    width: Width = field(default_factory=Width)
    """The share of the allowed workers that may be at work now."""
    plan_version: int = 0
    """Counts the changes of what there are tasks and what they wait for."""
    register: tuple[Decision, ...] = ()
    """The decisions of planners, and of workers whose work landed, in the order in which they were taken."""
    end_count: int = 0
    """The number of times that a task has ended."""
    sessions: dict[SessionId, SessionState] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    _receipts_by_tree: dict[TreeId, list[str]] = field(default_factory=dict, repr=False, compare=False)
    _indexed_receipts: int = field(default=0, repr=False, compare=False)
    flaky: Counter[str] = field(default_factory=Counter)
    """The number of times two runs on one tree disagreed on a test, by its id."""
    ref_history: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By ref of a branch, the commits at which the run has put it, or was about to, in order; not its own PR branch."""
    trials: list[TrialJudged] = field(default_factory=list)
    ejections: list[UnitEjected] = field(default_factory=list)
    foreseen_clashes: tuple[ClashForeseen, ...] = ()
    """The latest word on each pair of attempts that would conflict; some of them have ended since."""
    landings: list[LandingFinished] = field(default_factory=list)
    _landed: LandedUnitSet = field(default_factory=LandedUnitSet, repr=False, compare=False)
    landed_at: list[datetime] = field(default_factory=list)
    """The time of each of `landings`."""
    effect_tries: Counter[str] = field(default_factory=Counter)
    open_intents: dict[str, Intent] = field(default_factory=dict)
    approval_asked_at: dict[str, datetime] = field(default_factory=dict)
    approval_answered_at: dict[str, datetime] = field(default_factory=dict)
    """The times at which the questions of `approvals` were put to people, and answered."""
    stopped_calls: dict[str, str] = field(default_factory=dict)
    """Calls of tools that people had stopped, as `tool/SESSION/TURN/INDEX`, with the reason."""
    task_begun_s: dict[TaskId, float] = field(default_factory=dict)
    task_ended_s: dict[TaskId, float] = field(default_factory=dict)
    policy_violations: list[PolicyViolation] = field(default_factory=list)
    """The policy violations of agents, in order; of very many the first."""
    memory: MemoryState = field(default_factory=MemoryState)
    policy: PolicyLoaded | None = None
    notified_through: dict[str, int] = field(default_factory=dict)
    """Channel → the last event that needs no notification on it any more."""

    @property
    def run(self) -> RunStarted:
        """The run's first event; every journal that is not empty has it."""
        if self.started is None:
            raise ValueError("the journal holds no run.started event")
        return self.started

    @property
    def is_unsafe(self) -> bool:
        """True if commands of this run have, or at some time had, no sandbox around them."""
        settings = (self.started.settings if self.started else {}, *self.overrides)
        return any(values.get("hands", {}).get("without_sandbox") for values in settings)

    @property
    def is_unjudged(self) -> bool:
        """True if the run has ended because what landed could not be judged; old journals name no cause."""
        if self.ended is None or self.ended.outcome != "partial":
            return False
        if self.ended.cause == "not-judged":
            return True
        root = self.tasks.get(ids.ROOT_TASK)
        return root is not None and root.status == TaskStatus.DONE and len(self.goal.iterations) < self.goal.iteration

    @property
    def allowed_workers(self) -> int:
        """The workers that the settings allow at the same time."""
        allowed = 0
        for settings in (self.run.settings, *self.overrides):
            allowed = settings.get("run", {}).get("max_workers", allowed)
        return int(allowed)

    @property
    def head(self) -> CommitId | None:
        """The last commit that landed, None while the PR branch does not exist."""
        return self.landings[-1].new if self.landings else None

    @property
    def pending_approvals(self) -> list[ApprovalState]:
        """The questions that nobody has answered and that still matter, oldest first."""
        return [question for question in self.approvals.values() if self.is_waiting(question)]

    def is_waiting(self, question: ApprovalState) -> bool:
        """Return True if a question waits for an answer."""
        return question.is_open and not explain_closed_question(self, question)

    @property
    def question_ids(self) -> Mapping[str, ids.QuestionId]:
        """The short names of all questions by their items."""
        return {item: question.id for item, question in self.approvals.items()}

    def find_question(self, name: str) -> ApprovalState | None:
        """Return the question with this short name (`q2`) or item; None if the run asked none such."""
        short_name = ids.parse_question_id(name)
        if short_name is None:
            return self.approvals.get(name)
        return next((one for one in self.approvals.values() if one.id == short_name), None)

    def _list_questions(self, matter: ApprovalMatter) -> list[ApprovalState]:
        return [question for question in self.approvals.values() if question.approval.matter == matter]

    @property
    def unapproved_violations(self) -> list[PolicyViolation]:
        """The policy violations without a request for a tier that the user granted."""
        requests = [request for request in self._list_questions("tier") if request.decision == "approve"]
        granted = {ids.parse_tier_task(request.approval.subject) for request in requests}
        return [one for one in self.policy_violations if one.kind != "tier" or one.task not in granted]

    def list_task_requests(self, task: TaskId) -> list[ApprovalState]:
        """Return the questions that were put for the agents of a task: for tiers, then by the policy; oldest first."""
        questions = [*self._list_questions("tier"), *self._list_questions("policy")]
        return [question for question in questions if ids.parse_tier_task(question.approval.subject) == task]

    @property
    def landed_units(self) -> frozenset[UnitId]:
        """All units that have landed."""
        return frozenset[UnitId]().union(*map(attrgetter("units"), self.landings))

    def has_landed(self, unit: UnitId) -> bool:
        """Return True if a unit has landed, without a walk through all that have."""
        return self._landed.has_unit(self.landings, unit)

    @property
    def wall_s(self) -> float:
        """Seconds that processes have worked on the run, from each one's start to its last event."""
        if self.epoch_at is None or self.last_at is None:
            return self.earlier_s
        return max(self.settled_s, self.earlier_s + (self.last_at - self.epoch_at).total_seconds())

    def list_clashing_files(self) -> list[tuple[str, int]]:
        """Return the files in whose lines candidates clashed with what had landed, with how many did, most first."""
        counts: Counter[str] = Counter()
        for ejection in self.ejections:
            counts.update(ejection.conflict)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def list_clashes_ahead(self) -> list[ClashForeseen]:
        """Return the conflicts that are foreseen among attempts at work, and between them and the branch."""
        at_work = {self.tasks[name].unit for name in self.task_index.list_with_status(TaskStatus.RUNNING)}
        return [clash for clash in self.foreseen_clashes if at_work.issuperset((clash.unit, *clash.partners))]

    def list_flaky_tests(self) -> list[tuple[str, int]]:
        """Return the tests with both outcomes on one tree, with the number of such trees, most first."""
        return sorted(self.flaky.items(), key=lambda item: (-item[1], item[0]))

    @property
    def test_runs(self) -> int:
        """The number of the harness's runs of checks, without those of its own tests in place of the project's."""
        return sum(receipt.kind != CANARY_CHECK and receipt.origin is None for receipt in self.receipts.values())

    @property
    def reused_receipts(self) -> int:
        """The number of receipts that were taken over from earlier runs."""
        return sum(receipt.origin is not None for receipt in self.receipts.values())

    def iterate_lineage(self, task: TaskId | None) -> Iterator[TaskId]:
        """Yield a task and the tasks above it, up to the root; nothing for None or a task that does not exist."""
        while task is not None and task in self.tasks:
            yield task
            task = self.tasks[task].spec.parent

    @property
    def task_index(self) -> TaskIndex:
        """The index of all tasks."""
        return self._get_task_table().task_index

    def watch_tasks(self) -> TableChanges:
        """Return what the tasks that change from now on are noted in."""
        return self._get_task_table().watch_changes()

    def watch_approvals(self) -> TableChanges:
        """Return what the questions that change from now on are noted in, by their items."""
        if not isinstance(self.approvals, WatchedTable):
            self.approvals = WatchedTable(self.approvals)
        return self.approvals.watch_changes()

    def _get_task_table(self) -> TaskTable:
        """Return the tasks; those that were copied or put in as a plain dictionary become a table now."""
        if not isinstance(self.tasks, TaskTable):
            self.tasks = TaskTable(self.tasks)
        return self.tasks

    def iterate_children(self, parent: TaskId) -> Iterator[TaskState]:
        """Yield the tasks that a planner submitted, in order."""
        for name in self.task_index.children.get(parent, ()):
            yield self.tasks[name]

    def list_receipts_on(self, tree: TreeId) -> list[Receipt]:
        """Return the receipts of all checks on a tree, oldest first."""
        for receipt in islice(self.receipts.values(), self._indexed_receipts, None):
            self._receipts_by_tree.setdefault(receipt.tree, []).append(receipt.key)
        self._indexed_receipts = len(self.receipts)
        return [self.receipts[key] for key in self._receipts_by_tree.get(tree, ())]

    def get_baseline_receipts(self) -> Mapping[str, Receipt]:
        """Return the receipts on the base tree by the id of their check."""
        return {self.receipts[key].check: self.receipts[key] for key in self.baseline}
