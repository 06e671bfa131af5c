"""The actions that are due, as a pure function of the state.

`busy` are those under way. `GoalSchedule` says the same without looking at every task each time.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import UnionType

from orchestrator.config.roles import VerifierSettings
from orchestrator.domain.ids import TaskId, build_landing_item
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.run.rivals import has_live_rival, list_rivals
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, Exit, TaskStatus
from orchestrator.engine.goal.actions import (
    Action,
    ChooseRival,
    CloseSlice,
    ContinueAttempt,
    EndTask,
    JudgeAttempt,
    LandTasks,
    PlanRound,
    StartAttempt,
    VerifyTask,
    get_action_tasks,
)
from orchestrator.engine.goal.planner_news import PlannerOutlook, assess_planner
from orchestrator.engine.merging.clash_steps import (
    choose_clash_mode,
    classify_ejection,
    has_attempts_left,
    is_clash_lost,
    list_clashes,
    list_counted_exits,
    needs_whole_judging,
)
from orchestrator.engine.merging.hot_files import FileQueue, find_hot_files
from orchestrator.engine.verification.policy import is_verification_due


@dataclass(frozen=True)
class ScheduleLimits:
    """The limits a schedule obeys. `finish_only`: a budget is spent, so nothing begins but verdicts and landings.

    `verifier` says which tasks get tests of a verifier; None for no verifier at all. `woken` are planners that have
    waited long enough for more of what landed to be told of. Where not all can begin, tasks go first for which the most
    waits, by `chain_lengths`. `freeze_after` is how often work clashes in a file until tasks take turns at it.
    """

    max_workers: int
    max_attempts: int
    finish_only: bool = False
    verifier: VerifierSettings | None = None
    woken: AbstractSet[TaskId] = frozenset()
    max_planners: int = 8
    chain_lengths: Mapping[TaskId, int] = field(default_factory=dict)
    freeze_after: int = 0


WORK_ACTIONS = StartAttempt | ContinueAttempt


def list_due_actions(state: RunState, bounds: ScheduleLimits, busy: frozenset[Action]) -> list[Action]:
    """Return everything that may begin now, in plan order, without what is busy and without more workers than allowed.

    While the run drains or its budget is spent, only what needs no new work is due: verdicts and landings. While it is
    paused, nothing is.
    """
    if state.user_pause is not None:
        return []
    busy_tasks = set(iterate_busy_tasks(busy))
    wanted: list[Action] = []
    for task in state.tasks.values():
        if task.spec.rival_of == task.spec.id:
            choice = find_due_choice(state, task, bounds)
            if choice is not None and busy_tasks.isdisjoint(choice.rivals):
                wanted.append(choice)
        if task.status.is_terminal:
            continue
        if task.spec.id not in busy_tasks and (action := find_next_action(state, task, bounds)) is not None:
            wanted.append(action)
        if needs_verification(task, bounds) and (verifying := VerifyTask(task.spec.id)) not in busy:
            wanted.append(verifying)
    wanted = _hold_planners_back(state, wanted, busy)
    wanted = _hold_clashing_back(state, wanted, busy, bounds.freeze_after)
    if state.is_draining or bounds.finish_only:
        wanted = [action for action in wanted if finishes_work(state, action)]
    wanted = _limit_actions(wanted, busy, WORK_ACTIONS, bounds.max_workers, bounds.chain_lengths)
    wanted = _limit_actions(wanted, busy, PlanRound, bounds.max_planners, bounds.chain_lengths)
    return [*wanted, *list_landing(state, busy)]


def _hold_clashing_back(
    state: RunState, wanted: list[Action], busy: frozenset[Action], freeze_after: int
) -> list[Action]:
    """Return the actions without attempts at tasks that name a file in which work keeps clashing, but for one each."""
    files = find_hot_files(state, freeze_after)
    if not files:
        return wanted
    begun = [action.task for action in busy if isinstance(action, StartAttempt)]
    waiting = FileQueue(state, files, begun, state.tasks.values())
    kept = []
    for action in wanted:
        if not isinstance(action, StartAttempt) or waiting.admit_task(state.tasks[action.task]):
            kept.append(action)
    return kept


def iterate_busy_tasks(busy: AbstractSet[Action]) -> Iterator[TaskId]:
    """Yield the tasks about which nothing else can begin; a verifier is at work beside whatever else is done."""
    for action in busy:
        if not isinstance(action, VerifyTask):
            yield from get_action_tasks(action)


def needs_verification(task: TaskState, bounds: ScheduleLimits) -> bool:
    """Return True if a verifier has to begin or go on with a task."""
    return bounds.verifier is not None and is_verification_due(bounds.verifier, task)


def finishes_work(state: RunState, action: Action) -> bool:
    """Return True if an action needs no new work: it only judges or ends what is there."""
    if isinstance(action, VerifyTask):
        return state.tasks[action.task].status == TaskStatus.JUDGING
    return isinstance(action, JudgeAttempt | ChooseRival | EndTask | CloseSlice)


def _limit_actions(
    wanted: list[Action],
    busy: frozenset[Action],
    kind: type[Action] | UnionType,
    limit: int,
    chain_lengths: Mapping[TaskId, int],
) -> list[Action]:
    """Return the actions with no more of a kind than may be under way: what goes on first, then the longest chains."""
    free = max(0, limit - sum(isinstance(action, kind) for action in busy))
    candidates = [action for action in wanted if isinstance(action, kind)]
    if len(candidates) <= free:
        return wanted
    candidates.sort(key=lambda action: _rank_action(action, chain_lengths))
    chosen = set(candidates[:free])
    return [action for action in wanted if not isinstance(action, kind) or action in chosen]


def _rank_action(action: Action, chain_lengths: Mapping[TaskId, int]) -> tuple[bool, int]:
    """Return the place of an action among others of its kind, lowest first; equal ones stay in plan order."""
    longest = max(chain_lengths.get(task, 1) for task in get_action_tasks(action))
    return not isinstance(action, ContinueAttempt), -longest


def find_next_action(
    state: RunState, task: TaskState, bounds: ScheduleLimits, outlook: PlannerOutlook | None = None
) -> Action | None:
    """Return what is to be done about a task that has not ended, whatever is under way; None while it waits.

    `outlook` is that of a planner, where it is known already.
    """
    name = task.spec.id
    match task.status:
        case TaskStatus.PLANNED:
            return _start_planned(state, task)
        case TaskStatus.PLANNING:
            return PlanRound(name)
        case TaskStatus.WAITING:
            return _wake_planner(task, bounds, outlook or assess_planner(state, task))
        case TaskStatus.RUNNING:
            return ContinueAttempt(name)
        case TaskStatus.JUDGING:
            if task.verdict is None:
                return _judge_when_verified(task, bounds)
            return _after_verdict(state, task, bounds)
        case TaskStatus.QUEUED:
            return _after_queue(state, task, bounds)
    return None


def _hold_planners_back(state: RunState, wanted: list[Action], busy: frozenset[Action]) -> list[Action]:
    """Return the actions without rounds of planners below whom more tasks are just about to end."""
    ending = set[TaskId | None]()
    for action in (*wanted, *busy):
        if isinstance(action, EndTask):
            ending.add(state.tasks[action.task].spec.parent)
    return [action for action in wanted if not (isinstance(action, PlanRound) and action.task in ending)]


def _wake_planner(task: TaskState, bounds: ScheduleLimits, outlook: PlannerOutlook) -> Action | None:
    """Return the next round of a planner whose tasks are at work, or the end of its slice; None while it waits on.

    It is woken at once when nothing of it is under way any more, and when something ended otherwise than it should.
    """
    is_quiet, is_contradicted = outlook.is_quiet, outlook.is_contradicted
    if task.is_finished and not is_contradicted and not outlook.has_concerns:
        return CloseSlice(task.spec.id) if is_quiet else None
    if is_quiet or is_contradicted or task.spec.id in bounds.woken or outlook.has_failures:
        return PlanRound(task.spec.id)
    return None


def _judge_when_verified(task: TaskState, bounds: ScheduleLimits) -> Action | None:
    """Return the judging of an attempt, once the tests of its verifier are there if it has anything to be tested."""
    has_result = task.candidate is not None and task.ends[-1].exit == Exit.FINISHED
    if has_result and needs_verification(task, bounds):
        return None
    return JudgeAttempt(task.spec.id)


def _after_queue(state: RunState, task: TaskState, bounds: ScheduleLimits) -> Action | None:
    """Return what follows an ejection, or what a person said of the landing; None while the task may land."""
    if task.ejection is not None:
        return _after_ejection(state, task, bounds, classify_ejection(task.ejection))
    item = build_landing_item(task.unit)
    if item in state.approvals and state.approvals[item].decision == "send-back":
        return StartAttempt(task.spec.id)
    reason = _explain_rejection(state, item)
    if reason is None:
        return None
    text = f"a person did not let it land: {reason}"
    return EndTask(task.spec.id, TaskStatus.REJECTED, text, EndCause.REFUSED_BY_PERSON)


def _after_ejection(state: RunState, task: TaskState, bounds: ScheduleLimits, cause: EndCause) -> Action | None:
    """Return what follows an ejection, once it is clear if the work is red by itself or only where it lands."""
    if needs_whole_judging(task):
        return JudgeAttempt(task.spec.id)
    return _try_again(state, task, bounds, "the queue ejected it", cause)


def _explain_rejection(state: RunState, item: str) -> str | None:
    """Return why a question was answered with no; None when it was not."""
    answer = state.approvals.get(item)
    if answer and answer.decision == "reject":
        return answer.reason or f"rejected by {answer.by}"
    return None


def find_due_choice(state: RunState, first: TaskState, bounds: ScheduleLimits) -> ChooseRival | None:
    """Return the choice among the first of rivals and the others, once each has passed or ended; None until then."""
    rivals, passed = list_rivals(state, first), list[TaskId]()
    for rival in rivals:
        if rival.status.is_terminal:
            continue
        is_passed = rival.status == TaskStatus.QUEUED and _after_queue(state, rival, bounds) is None
        if rival.is_chosen or not is_passed or rival.ejection is not None:
            return None
        passed.append(rival.spec.id)
    if passed:
        return ChooseRival(first.spec.id, tuple(passed))
    return None


def _is_unanswered(state: RunState, item: str) -> bool:
    answer = state.approvals.get(item)
    return answer is not None and answer.decision != "approve"


def _start_planned(state: RunState, task: TaskState) -> Action | None:
    if task.retry is None:  # whoever has a task tried again approves of it
        if (reason := _explain_rejection(state, task.spec.approval)) is not None:
            reason = f"a person did not approve the plan: {reason}"
            return EndTask(task.spec.id, TaskStatus.CANCELLED, reason, EndCause.REFUSED_BY_PERSON)
        if _is_unanswered(state, task.spec.approval):
            return None
    is_waiting = False
    for name in task.spec.depends_on:
        other = state.tasks[name]
        if other.status.is_reached:
            continue
        if other.status.is_terminal and not has_live_rival(state, other):
            reason = f"it depends on {other.spec.id}, which was {other.status}"
            return EndTask(task.spec.id, TaskStatus.CANCELLED, reason, EndCause.DEPENDENCY)
        is_waiting = True
    if is_waiting or _is_any_under_way(state, task.spec.after):
        return None
    if task.spec.kind == "branch":
        return PlanRound(task.spec.id)
    return StartAttempt(task.spec.id)


def _is_any_under_way(state: RunState, names: Sequence[TaskId]) -> bool:
    return any(name in state.tasks and not state.tasks[name].status.is_terminal for name in names)


def _after_verdict(state: RunState, task: TaskState, bounds: ScheduleLimits) -> Action | None:
    given = task.verdict
    if given is None or given.verdict.kind == VerdictKind.MERGE:
        return None
    reasons, cause = "; ".join(given.verdict.reasons), given.verdict.cause
    if given.verdict.kind in _ENDS:
        return EndTask(task.spec.id, _ENDS[given.verdict.kind], reasons, cause)
    return _try_again(state, task, bounds, reasons, cause or EndCause.NO_ATTEMPT_LEFT)


_ENDS = {
    VerdictKind.REJECT: TaskStatus.REJECTED,
    VerdictKind.ESCALATE: TaskStatus.BLOCKED,
    VerdictKind.SPLIT: TaskStatus.SPLIT,
}


def _try_again(state: RunState, task: TaskState, bounds: ScheduleLimits, reason: str, cause: EndCause) -> Action | None:
    """Return the next try, once there is an answer to what the last one asked for.

    Work that clashed with what had landed is gone on with beside the attempts that a task has.
    """
    if any(wish.is_open for wish in state.list_task_requests(task.spec.id)):
        return None
    if is_clash_lost(task, bounds.max_attempts):
        return _end_lost_clash(task, reason, cause)
    has_next = has_attempts_left(task, bounds.max_attempts)
    if has_next or choose_clash_mode(task, bounds.max_attempts) is not None:
        return StartAttempt(task.spec.id)
    tries, exits = list_counted_exits(task)
    failed = sum(ended.is_infrastructure for ended in exits)
    text = f"no attempt of {tries} could land; the last: {reason}"
    if failed >= bounds.max_attempts or cause == EndCause.UNSETTLED_TESTS:
        return EndTask(task.spec.id, TaskStatus.BLOCKED, text, cause)
    short = sum(ended.is_out_of_room for ended in exits)
    if short >= bounds.max_attempts or (exits and short + failed == len(exits)):
        return EndTask(task.spec.id, TaskStatus.SPLIT, text, EndCause.TOO_LARGE)
    return EndTask(task.spec.id, TaskStatus.REJECTED, text, cause)


def _end_lost_clash(task: TaskState, reason: str, cause: EndCause) -> EndTask:
    """Return the end of a task that clashed, and whose arbiter's result did not land either."""
    text = f"it clashed with what had landed, and what the arbiter made of both did not land: {reason}"
    if cause == EndCause.UNSETTLED_TESTS or task.ends[-1].exit.is_infrastructure:
        return EndTask(task.spec.id, TaskStatus.BLOCKED, text, cause)
    return EndTask(task.spec.id, TaskStatus.REJECTED, text, classify_ejection(list_clashes(task)[-1]))


def list_landing(state: RunState, busy: AbstractSet[Action]) -> Iterator[LandTasks]:
    """Yield the landing of all that is queued and may land, unless one is under way."""
    if any(isinstance(action, LandTasks) for action in busy):
        return
    queued = []
    for name in state.task_index.list_with_status(TaskStatus.QUEUED):
        task = state.tasks[name]
        is_ready = task.ejection is None and not task.waits_for_choice
        if is_ready and not _is_unanswered(state, build_landing_item(task.unit)):
            queued.append(name)
    if queued:
        yield LandTasks(tuple(queued))
