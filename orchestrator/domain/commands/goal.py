"""The effect of a command on the state of a run, and the reason why one that makes no sense is refused."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from orchestrator.domain.commands import definitions
from orchestrator.domain.commands.answers import explain_answer_refusal
from orchestrator.domain.commands.definitions import Command, HostCommand, MigrationCommand
from orchestrator.domain.commands.hosts import explain_host_refusal
from orchestrator.domain.commands.migration import apply_migration_command, explain_migration_refusal
from orchestrator.domain.commands.person_words import LISTENING_ROLES, MAX_WORDS_CHARS, WORDS_FOLLOW, PersonWords
from orchestrator.domain.event.work import ToolCalled
from orchestrator.domain.fold.record_updates import add_task_grants, format_reason, reopen_run, update_task
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId, parse_effect_name
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION, Contract
from orchestrator.domain.run.grant import GrantIntent, parse_grant
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.suggestions import suggest_names

CONTRACT_FROZEN_REFUSAL = (
    "the contract was frozen when the run began: orchestrate criterion add RUN TEXT, or criterion drop RUN ID"
)
_ENDED_WITHOUT_PLAN = {TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.UNFINISHED}
"""The ends of a planner's slice without a plan that holds: then it can be planned again."""
_WAITS_AGAIN = {TaskStatus.CANCELLED, TaskStatus.DONE, TaskStatus.UNFINISHED}
"""The ends of a planner's slice after which it waits again for a task of it that is tried again."""
_TAKEN_BACK = {EndCause.WITHDRAWN, EndCause.REPLACED}
"""The causes of tasks that their own planner does not want any more."""
_UNDER_WAY = {TaskStatus.RUNNING, TaskStatus.JUDGING}
_RETRYABLE = _ENDED_WITHOUT_PLAN | _UNDER_WAY | {TaskStatus.SPLIT, TaskStatus.CANCELLED}
_FILE_WORK_REFUSAL = (
    "is work on a file of a migration: have the file itself tried again, or leave it out (orchestrate migrate)"
)


def explain_refusal(state: RunState, command: Command) -> str:
    """Return the reason why a command cannot be carried out now; empty when it can."""
    if isinstance(command, MigrationCommand):
        return explain_migration_refusal(state, command)
    if isinstance(command, HostCommand):
        return explain_host_refusal(state, command)
    refusal = _explain_goal_refusal(state, command)
    if refusal is None and state.ended:
        return f"the run has ended: {state.ended.outcome}"
    return refusal or ""


def _explain_goal_refusal(state: RunState, command: Command) -> str | None:
    """Return the reason why a command is refused; empty if it is not, None if only a run that has ended refuses it."""
    match command:
        case definitions.Approve() | definitions.SendBack() | definitions.Reject():
            return explain_answer_refusal(state, command)
        case definitions.Retry():
            return _explain_retry_refusal(state, command)
        case definitions.Cancel() if command.task is not None:
            return _explain_cancel_refusal(state, command.task)
        case definitions.StopCall() if state.ended is None:
            return _explain_stop_refusal(state, command)
        case definitions.Tell() if state.ended is None:
            return _explain_words_refusal(state, command)
        case definitions.AddCriterion() | definitions.DropCriterion() if state.ended is None or state.is_unjudged:
            return _explain_criterion_refusal(state, command)
        case definitions.Configure():
            is_frozen = not command.is_all and "contract" in command.settings
            return CONTRACT_FROZEN_REFUSAL if is_frozen else ""
    return None


def _explain_task_refusal(state: RunState, name: TaskId) -> str:
    if name not in state.tasks:
        problem = f"there is no task {name!r} in this run"
        return problem + add_lead(": ", suggest_names(name, state.tasks))
    return f"{name} {_FILE_WORK_REFUSAL}" if state.run.mode == "migration" else ""


def _explain_retry_refusal(state: RunState, command: definitions.Retry) -> str:
    if refusal := _explain_task_refusal(state, command.task):
        return refusal
    task = state.tasks[command.task]
    if state.is_unjudged and command.task == ROOT_TASK:
        return ""
    if task.spec.kind == "branch" and task.status not in _ENDED_WITHOUT_PLAN:
        return f"{command.task} is a planner's slice: retry one of its tasks"
    if task.status == TaskStatus.DISCARDED:
        return (
            f"{command.task} was left behind by a restart: what it made is kept, and the planner plans anew without it"
        )
    if task.status not in _RETRYABLE:
        return f"{command.task} is {task.status.word}: there is nothing to try again"
    if refusal := _explain_grant_refusal(command.grants):
        return refusal
    if command.turn is None:
        return ""
    return _explain_turn_refusal(state, command, task, command.turn)


def _explain_grant_refusal(grants: Sequence[str]) -> str:
    for text in grants:
        try:
            parse_grant(text)
        except ValueError:
            return f"{text!r} is no grant: write PATH:INTENT, with an intent of {', '.join(GrantIntent)}"
    return ""


def _explain_turn_refusal(state: RunState, command: definitions.Retry, task: TaskState, turn: int) -> str:
    number = command.attempt or len(task.attempts)
    if not 1 <= number <= len(task.attempts):
        return f"{command.task} has no attempt {number}"
    session = state.sessions.get(task.attempts[number - 1].session)
    turns = session.turns if session else 0
    if turn < turns:
        return ""
    known = f"the turns 0 to {turns - 1}" if turns else "no whole turn"
    return f"attempt {number} of {command.task} has {known}"


def _explain_cancel_refusal(state: RunState, name: TaskId) -> str:
    if refusal := _explain_task_refusal(state, name):
        return refusal
    status = state.tasks[name].status
    return f"{name} is {status.word} already" if status.is_terminal else ""


def _explain_words_refusal(state: RunState, command: definitions.Tell) -> str:
    if refusal := _explain_task_refusal(state, command.task):
        return refusal
    if not command.note.strip():
        return "there are no words to say"
    if len(command.note) > MAX_WORDS_CHARS:
        return f"the words have {len(command.note):,} characters, and at most {MAX_WORDS_CHARS:,} can be said at once"
    status = state.tasks[command.task].status
    return f"{command.task} is {status.word}: nobody works on it any more" if status.is_terminal else ""


def _add_words(state: RunState, command: definitions.Tell, by: str) -> None:
    name = f"w{len(state.goal.words) + 1}"
    words = PersonWords(id=name, task=command.task, by=by, text=command.note.strip(), is_urgent=command.is_now)
    state.goal.words[name] = words
    for call in _list_running_calls(state) if command.is_now else ():
        session = state.sessions.get(call.session)
        if call.task == command.task and session is not None and session.role in LISTENING_ROLES:
            state.stopped_calls.setdefault(parse_effect_name(call.key), WORDS_FOLLOW)


def _explain_criterion_refusal(state: RunState, command: definitions.AddCriterion | definitions.DropCriterion) -> str:
    if state.goal.contract is None:
        return "it has no contract yet" if state.run.mode == "goal" else "a migration has no contract"
    ids = state.goal.contract.ids
    known = ", ".join(map(attrgetter("id"), state.goal.contract.criteria))
    if isinstance(command, definitions.AddCriterion):
        name = command.criterion.id
        return f"the id {name} is taken; the criteria: {known}" if name in ids else ""
    if command.id in {GOAL_CRITERION, GATE_CRITERION}:
        return f"every contract has the criterion {command.id}"
    if command.id in ids:
        return ""
    suggestion = add_lead(": ", suggest_names(command.id, ids))
    return f"there is no criterion {command.id!r}{suggestion or f'; the criteria: {known}'}"


def apply_command(state: RunState, command: Command, by: str) -> None:
    """Change the state as the command says. Answers to approvals come as events of their own."""
    if isinstance(command, MigrationCommand):
        apply_migration_command(command, state, by)
    elif isinstance(command, definitions.Tell):
        _add_words(state, command, by)
    else:
        _apply_goal_command(state, command, by)


def _apply_goal_command(state: RunState, command: Command, by: str) -> None:
    match command:
        case definitions.Pause():
            state.user_pause = format_reason("paused", command.reason, by)
        case definitions.Continue():
            state.user_pause = None
        case definitions.Stop() if command.how == "drain":
            state.is_draining = True
        case definitions.Cancel():
            _cancel_tasks(state, command, by)
        case definitions.Retry():
            _retry_task(state, command)
        case definitions.StopCall():
            _record_stopped_call(state, command)
        case definitions.Configure():
            _configure_run(state, command)
        case definitions.AddCriterion() if state.goal.contract:
            _change_contract(state, state.goal.contract.with_criteria((command.criterion,)))
        case definitions.DropCriterion() if state.goal.contract:
            _change_contract(state, state.goal.contract.without_criterion(command.id))


def _configure_run(state: RunState, command: definitions.Configure) -> None:
    if command.is_all:
        state.started = state.run.model_copy(update={"settings": {}})
        state.overrides = ()
    state.overrides = (*state.overrides, command.settings)


def _change_contract(state: RunState, contract: Contract) -> None:
    """Have the whole judged by another contract, also if the run has ended because it could not be judged."""
    state.goal.contract = contract
    rejudge_run(state)
    if state.is_unjudged:
        reopen_run(state)


def rejudge_run(state: RunState) -> None:
    """Have the whole judged anew by the current criteria, also if its judging is under way."""
    if state.goal.iteration > 0:
        state.goal.iterations = state.goal.iterations[: state.goal.iteration - 1]
        state.goal.rejudge_count += 1


def _cancel_tasks(state: RunState, command: definitions.Cancel, by: str) -> None:
    reason = format_reason("cancelled", command.reason, by)
    if command.task is None:
        state.cancel_reason = reason
    top = state.tasks.values() if command.task is None else iterate_subtree(state, state.tasks[command.task])
    for task in list(top):
        if not task.status.is_terminal:
            update_task(state, task, TaskStatus.CANCELLED, reason=reason, cause=EndCause.CANCELLED)


def iterate_subtree(state: RunState, task: TaskState) -> Iterator[TaskState]:
    """Yield a task and everything under it."""
    yield task
    for child in state.iterate_children(task.spec.id):
        yield from iterate_subtree(state, child)


def _retry_task(state: RunState, command: definitions.Retry) -> None:
    """Have the task planned again with a fresh count of attempts; a run that has ended is reopened and judged anew.

    The root of a run that could not be judged keeps its plan: then only the verdict is asked for anew.
    """
    if not (state.is_unjudged and command.task == ROOT_TASK):
        _plan_task_again(state, command)
    rejudge_run(state)
    reopen_run(state)


def _plan_task_again(state: RunState, command: definitions.Retry) -> None:
    """Plan the task again, with a fresh count of rounds; planners above it that were given up with it wait for it.

    If tests of its verifier were what refused it, these do not count any more.
    """
    add_task_grants(state, state.tasks[command.task], [parse_grant(text) for text in command.grants])
    task = state.tasks[command.task]
    changes: dict[str, object] = {"retry": command, "earlier_attempts": len(task.attempts)}
    if task.spec.kind == "branch":
        changes["uncounted_rounds"] = task.rounds
    if task.cause == EndCause.REFUSED_BY_VERIFIER and task.verification is not None:
        changes["verification"] = task.verification.model_copy(update={"is_waived": True})
    _reopen_task(state, task, TaskStatus.PLANNED, **changes)
    _reopen_dependents(state, command.task)
    for name in list(state.iterate_lineage(task.spec.parent)):
        planner = state.tasks[name]
        if planner.status in _WAITS_AGAIN:
            _reopen_task(state, planner, TaskStatus.WAITING, is_finished=planner.status == TaskStatus.DONE)


def replace_dependency(state: RunState, old: TaskId, new: TaskId) -> None:
    """Let everything that depends on `old` depend on `new`; what was cancelled untried with `old` waits again."""
    state.plan_version += 1
    _reopen_dependents(state, old)
    for follower in state.task_index.list_followers(old):
        task = state.tasks[follower]
        if old in task.spec.depends_on:
            needed = tuple(new if name == old else name for name in task.spec.depends_on)
            update_task(state, task, spec=task.spec.model_copy(update={"depends_on": needed}))


def _reopen_dependents(state: RunState, needed: TaskId) -> None:
    for name in _list_cancelled_with(state, needed):
        _reopen_task(state, state.tasks[name], TaskStatus.PLANNED)


def _reopen_task(state: RunState, task: TaskState, status: TaskStatus, **changes: object) -> None:
    update_task(state, task, status, reason="", cause=None, **changes)


def _list_cancelled_with(state: RunState, needed: TaskId) -> list[TaskId]:
    """Return the tasks that were cancelled untried because of one that they depend on, directly or not."""
    found, pending = set[TaskId](), [needed]
    while pending:
        current = pending.pop()
        for name in state.task_index.followers.get(current, ()):
            task = state.tasks[name]
            if name not in found and current in task.spec.depends_on and _was_cancelled_untried(task):
                found.add(name)
                pending.append(name)
    return state.task_index.sort_by_place(found)


def _was_cancelled_untried(task: TaskState) -> bool:
    return task.status == TaskStatus.CANCELLED and not task.attempts and task.cause not in _TAKEN_BACK


def collect_granted_criteria(state: RunState) -> frozenset[str]:
    """Return the ids of criteria that people let be added in questions of old journals, which hold them as text."""
    ids: set[str] = set()
    for answer in state.approvals.values():
        question = answer.approval
        if answer.decision == "approve" and question.matter == "contract" and not question.criteria:
            ids.update(line.partition(":")[0] for line in question.detail)
    return frozenset(ids)


def find_running_call(state: RunState, session: SessionId) -> ToolCalled | None:
    """Return the tool call that a conversation waits for; None if it waits for none."""
    return next((call for call in _list_running_calls(state) if call.session == session), None)


def find_running_call_of_task(state: RunState, task: TaskId) -> ToolCalled | None:
    """Return the latest tool call that a conversation about a task waits for."""
    return next((call for call in reversed(_list_running_calls(state)) if call.task == task), None)


def _list_running_calls(state: RunState) -> list[ToolCalled]:
    return [intent for intent in state.open_intents.values() if isinstance(intent, ToolCalled)]


def _explain_stop_refusal(state: RunState, command: definitions.StopCall) -> str:
    """Return the reason why a call cannot be stopped; empty when it can.

    A command that names a call does not stop a later one.
    """
    if command.session not in state.sessions:
        return f"there is no conversation {command.session!r} in this run"
    running = find_running_call(state, command.session)
    if running is None:
        return f"{command.session} is using no tool now: there is nothing to stop"
    name = parse_effect_name(running.key)
    if command.call not in ("", name):
        return "the call that was meant is over; another one runs now"
    if name in state.stopped_calls:
        return f"{running.name} is being stopped already"
    return ""


def _record_stopped_call(state: RunState, command: definitions.StopCall) -> None:
    """Record that a call is to end, and is not to be made again if it was cut off otherwise."""
    if running := find_running_call(state, command.session):
        state.stopped_calls[parse_effect_name(running.key)] = command.reason
