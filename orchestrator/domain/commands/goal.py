"""The effect of a command on the state of a run, and the reason why one that makes no sense is refused."""

from collections.abc import Iterator

from orchestrator.domain.commands.definitions import (
    AddCriterion,
    Approve,
    Cancel,
    Command,
    Configure,
    Continue,
    Deny,
    DropCriterion,
    Pause,
    Retry,
    Stop,
    StopCall,
)
from orchestrator.domain.commands.migration import (
    apply_migration_command,
    explain_migration_refusal,
    is_migration_command,
)
from orchestrator.domain.commands.stop_call import explain_stop_refusal, record_stopped_call
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.transitions import TASK_TRANSITIONS, apply_transition

CONTRACT_FROZEN_REFUSAL = (
    "the contract was frozen when the run began: orchestrate criterion add RUN TEXT, or criterion drop RUN ID"
)
_RETRYABLE = {
    *(TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.SPLIT, TaskStatus.CANCELLED),
    *(TaskStatus.RUNNING, TaskStatus.JUDGING),
}


_FILE_WORK_REFUSAL = (
    "is work on a file of a migration: have the file itself tried again, or leave it out (orchestrate migrate)"
)
_ENDED_WITHOUT_PLAN = {TaskStatus.REJECTED, TaskStatus.BLOCKED}
"""The ends of a planner's slice without a plan: then it can be planned again."""


def explain_refusal(state: RunState, command: Command) -> str:
    """Return the reason why a command cannot be carried out now; empty when it can."""
    if is_migration_command(command):
        return explain_migration_refusal(state, command)
    return _explain_run_refusal(state, command)


def _explain_run_refusal(state: RunState, command: Command) -> str:
    refusal = _explain_goal_refusal(state, command)
    if refusal is None and state.ended:
        return f"the run has ended: {state.ended.outcome}"
    return refusal or ""


def _explain_goal_refusal(state: RunState, command: Command) -> str | None:
    """Return the reason why a command is refused; empty if it is not, None if only a run that has ended refuses it."""
    match command:
        case Approve() | Deny() if state.ended is None or _is_about_recipe(state, command.item):
            return _explain_answer_refusal(state, command.item)
        case Retry():
            return _explain_retry_refusal(state, command)
        case Cancel() if command.task is not None:
            return _explain_cancel_refusal(state, command.task)
        case Continue() if state.user_pause is None:
            return "the run is not paused"
        case StopCall() if state.ended is None:
            return explain_stop_refusal(state, command)
        case AddCriterion() | DropCriterion() if state.ended is None:
            return _explain_criterion_refusal(state, command)
        case Configure():
            is_frozen = not command.is_all and "contract" in command.settings
            return CONTRACT_FROZEN_REFUSAL if is_frozen else ""
    return None


def _is_about_recipe(state: RunState, item: str) -> bool:
    return item in state.approvals and state.approvals[item].is_about_recipe


def _explain_answer_refusal(state: RunState, item: str) -> str:
    known = state.approvals.get(item)
    if known is None:
        waiting = ", ".join(question.approval.item for question in state.pending_approvals) or "nothing"
        return f"nothing is asked under the name {item!r}; waiting: {waiting}"
    if known.is_open:
        return ""
    return f"{item} was answered already: {known.decision} by {known.by}"


def _explain_retry_refusal(state: RunState, command: Retry) -> str:
    task = state.tasks.get(command.task)
    if task is None:
        return f"there is no task {command.task!r} in this run"
    if state.run.mode == "migration":
        return f"{command.task} {_FILE_WORK_REFUSAL}"
    if task.spec.kind == "branch" and task.status not in _ENDED_WITHOUT_PLAN:
        return f"{command.task} is a planner's slice: retry one of its tasks"
    if task.status not in _RETRYABLE:
        return f"{command.task} is {task.status}: there is nothing to try again"
    if command.turn is None:
        return ""
    return _explain_turn_refusal(state, command, task, command.turn)


def _explain_turn_refusal(state: RunState, command: Retry, task: TaskState, turn: int) -> str:
    number = command.attempt or len(task.attempts)
    if not 1 <= number <= len(task.attempts):
        return f"{command.task} has no attempt {number}"
    session = state.sessions.get(task.attempts[number - 1].session)
    turns = session.turns if session else 0
    if turn >= turns:
        if turns:
            return f"attempt {number} of {command.task} has the turns 0 to {turns - 1}"
        return f"attempt {number} of {command.task} has no whole turn"
    return ""


def _explain_cancel_refusal(state: RunState, name: TaskId) -> str:
    task = state.tasks.get(name)
    if task is None:
        return f"there is no task {name!r} in this run"
    if state.run.mode == "migration":
        return f"{name} {_FILE_WORK_REFUSAL}"
    if task.status.is_terminal:
        return f"{name} is {task.status} already"
    return ""


def _explain_criterion_refusal(state: RunState, command: AddCriterion | DropCriterion) -> str:
    if state.goal.contract is None:
        if state.run.mode == "goal":
            return "it has no contract yet"
        return "a migration has no contract"
    known = ", ".join(criterion.id for criterion in state.goal.contract.criteria)
    if isinstance(command, AddCriterion):
        name = command.criterion.id
        if name in state.goal.contract.ids:
            return f"the id {name} is taken; the criteria: {known}"
        return ""
    if command.id in {GOAL_CRITERION, GATE_CRITERION}:
        return f"every contract has the criterion {command.id}"
    if command.id in state.goal.contract.ids:
        return ""
    return f"there is no criterion {command.id!r}; the criteria: {known}"


def apply_command(state: RunState, command: Command, by: str) -> None:
    """Change the state as the command says. Answers to approvals come as events of their own."""
    if is_migration_command(command):
        apply_migration_command(command, state, by)
    else:
        _apply_goal_command(state, command, by)


def _apply_goal_command(state: RunState, command: Command, by: str) -> None:
    match command:
        case Pause():
            state.user_pause = f"paused by {by}" + (f": {command.reason}" if command.reason else "")
        case Continue():
            state.user_pause = None
        case Stop() if command.how == "drain":
            state.is_draining = True
        case Cancel():
            _cancel_tasks(state, command, by)
        case Retry():
            _retry_task(state, command)
        case StopCall():
            record_stopped_call(state, command)
        case Configure():
            _configure_run(state, command)
        case AddCriterion() if state.goal.contract:
            state.goal.contract = state.goal.contract.with_criteria((command.criterion,))
            _rejudge_run(state)
        case DropCriterion() if state.goal.contract:
            state.goal.contract = state.goal.contract.without_criterion(command.id)
            _rejudge_run(state)


def _configure_run(state: RunState, command: Configure) -> None:
    if command.is_all:
        state.started = state.run.model_copy(update={"settings": {}})
        state.overrides = ()
    state.overrides = (*state.overrides, command.settings)


def _rejudge_run(state: RunState) -> None:
    """Have the whole judged anew by the current criteria, also if its judging is under way."""
    if state.goal.iteration > 0:
        state.goal.iterations = state.goal.iterations[: state.goal.iteration - 1]
        state.goal.rejudge_count += 1


def _cancel_tasks(state: RunState, command: Cancel, by: str) -> None:
    reason = f"cancelled by {by}" + (f": {command.reason}" if command.reason else "")
    if command.task is None:
        state.cancel_reason = reason
    top = state.tasks.values() if command.task is None else iterate_subtree(state, state.tasks[command.task])
    for task in list(top):
        if not task.status.is_terminal:
            status = apply_transition(TASK_TRANSITIONS, f"task {task.spec.id}", task.status, TaskStatus.CANCELLED)
            ended = {"status": status, "reason": reason, "cause": EndCause.CANCELLED}
            state.tasks[task.spec.id] = task.model_copy(update=ended)


def iterate_subtree(state: RunState, task: TaskState) -> Iterator[TaskState]:
    """Yield a task and everything under it."""
    yield task
    for child in state.iterate_children(task.spec.id):
        yield from iterate_subtree(state, child)


def _retry_task(state: RunState, command: Retry) -> None:
    """Have the task planned again with a fresh count of attempts; a run that has ended is reopened and judged anew.

    Planners above it that were given up with it wait for it again.
    """
    task = state.tasks[command.task]
    _move_task(state, task, TaskStatus.PLANNED, {"retry": command, "earlier_attempts": len(task.attempts)})
    cancelled = [other for other in state.tasks.values() if _was_cancelled_with(state, other, command.task)]
    for other in cancelled:
        _move_task(state, other, TaskStatus.PLANNED, {})
    for name in list(state.iterate_lineage(task.spec.parent)):
        if state.tasks[name].status == TaskStatus.CANCELLED:
            _move_task(state, state.tasks[name], TaskStatus.WAITING, {})
    _rejudge_run(state)
    state.ended = None
    state.cancel_reason = ""


def _move_task(state: RunState, task: TaskState, to: TaskStatus, changes: dict[str, object]) -> None:
    status = apply_transition(TASK_TRANSITIONS, f"task {task.spec.id}", task.status, to)
    state.tasks[task.spec.id] = task.model_copy(update={"status": status, "reason": "", "cause": None} | changes)


def _was_cancelled_with(state: RunState, task: TaskState, needed: TaskId) -> bool:
    """Return True if a task was cancelled untried because of one that it depends on, directly or not."""
    if task.status != TaskStatus.CANCELLED or task.attempts:
        return False
    return any(
        name == needed or (name in state.tasks and _was_cancelled_with(state, state.tasks[name], needed))
        for name in task.spec.depends_on
    )


def collect_granted_criteria(state: RunState) -> frozenset[str]:
    """Return the ids of criteria that people let be added in questions of old journals, which hold them as text."""
    ids: set[str] = set()
    for answer in state.approvals.values():
        question = answer.approval
        if answer.decision == "approve" and question.matter == "contract" and not question.criteria:
            ids.update(line.partition(":")[0] for line in question.detail)
    return frozenset(ids)


def build_answered_approval(state: RunState, item: str, decision: str, by: str, reason: str) -> ApprovalState:
    """Return an approval with its answer."""
    return state.approvals[item].model_copy(update={"decision": decision, "by": by, "reason": reason})
