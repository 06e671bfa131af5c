"""`fold`: events to state. The only place where an event changes anything."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, singledispatch
from typing import Any, NamedTuple, TypeAlias

from orchestrator.domain.approval import Answered
from orchestrator.domain.base import changed
from orchestrator.domain.booking import TIMED, book_checks, book_failure, book_question, book_reply, book_time
from orchestrator.domain.burndown import book_tick
from orchestrator.domain.commanded import answered, granted_criteria, obey
from orchestrator.domain.contract import frozen
from orchestrator.domain.event import forge, landing, migration, outside, people, run, work
from orchestrator.domain.event.base import Done, Event, Intent, Recorded, effect_name
from orchestrator.domain.lifecycle import TASK_MOVES, move
from orchestrator.domain.migrated import landed, migrated
from orchestrator.domain.overstep import MOST, oversteps
from orchestrator.domain.state import RunState, SessionState, TaskState, unit_task
from orchestrator.domain.task import TaskStatus
from orchestrator.domain.told_migrations import wish_revision


def fold(events: Iterable[Recorded], onto: RunState | None = None) -> RunState:
    """The state after `events`.

    Args:
        events: in journal order.
        onto: a state to go on from; it is the caller's own and is advanced in place. None starts empty.

    Raises:
        IllegalMove: an event moves something where its transition table does not allow it.
        ContractAltered: an event changes the contract, which only people can.
    """
    state = RunState() if onto is None else onto
    for recorded in events:
        advance(state, recorded)
    return state


def advance(state: RunState, recorded: Recorded) -> None:
    """Apply one event to a state that the caller owns."""
    event, at = recorded.event, recorded.at
    steps = _steps(type(event))
    for book in steps.before:
        book(state, event, at)
    moved = state.files.get(event.path) if isinstance(event, migration.FileMoved) else None
    steps.apply(event, state)
    state.seq, state.last_at = recorded.seq, at
    for book in steps.after:
        book(state, event, at)
    book_tick(state, event, at, moved)


_Book: TypeAlias = Callable[[RunState, Any, datetime], None]
_Kinds: TypeAlias = type[Event] | tuple[type[Event], ...]


class _Steps(NamedTuple):
    """What events of a kind lead to: before they are applied, when they are, and afterwards."""

    before: tuple[_Book, ...]
    apply: Callable[[Event, RunState], None]
    after: tuple[_Book, ...]


@cache
def _steps(kind: type[Event]) -> _Steps:
    """Looked up once for each kind: to ask each event what it is would take half of the time of a fold."""
    before, after = (tuple(book for kinds, book in table if issubclass(kind, kinds)) for table in (_BEFORE, _AFTER))
    return _Steps(before, _apply.dispatch(kind), after)


def _begin_effect(state: RunState, event: Intent, _at: datetime) -> None:
    state.tries[effect_name(event.key)] += 1
    state.open_intents[event.key] = event


def _begin_epoch(state: RunState, _event: run.EngineStarted, at: datetime) -> None:
    state.earlier_s = state.wall_s
    state.epoch_at = at


def _end_effect(state: RunState, event: Done, _at: datetime) -> None:
    state.open_intents.pop(event.key, None)


_BEFORE: tuple[tuple[_Kinds, _Book], ...] = (
    (Intent, _begin_effect),
    (run.EngineStarted, _begin_epoch),
    ((people.ApprovalRequested, people.ApprovalDecided), book_question),
    (forge.ChecksSeen, book_checks),
)
_AFTER: tuple[tuple[_Kinds, _Book], ...] = (
    (Done, _end_effect),
    (TIMED, book_time),
)


@singledispatch
def _apply(event: Event, state: RunState) -> None:
    """Events that only tell a story change nothing."""


def _task(state: RunState, event: Event) -> TaskState:
    if event.task is None or event.task not in state.tasks:
        raise ValueError(f"{event.kind} names task {event.task!r}, which was never created")
    return state.tasks[event.task]


def _update(state: RunState, task: TaskState, status: TaskStatus | None = None, **changes: object) -> None:
    if status is not None:
        changes["status"] = move(TASK_MOVES, f"task {task.spec.id}", task.status, status)
    state.tasks[task.spec.id] = task.model_copy(update=changes)


# --- the run -------------------------------------------------------------------------------------------------------


@_apply.register
def _(event: run.RunStarted, state: RunState) -> None:
    state.started = event
    state.recipe = event.recipe


@_apply.register
def _(event: run.EngineStarted, state: RunState) -> None:
    state.epoch = event.epoch
    state.paused = None
    state.is_draining = False


@_apply.register
def _(event: run.Noticed, state: RunState) -> None:
    state.notices += (event,)


@_apply.register
def _(event: run.BaselineRecorded, state: RunState) -> None:
    state.baseline = event.receipts


@_apply.register
def _(event: run.CheckFinished, state: RunState) -> None:
    state.receipts[event.receipt.key] = event.receipt


@_apply.register
def _(event: run.FlakesSeen, state: RunState) -> None:
    state.flaky.update(event.flaky)


@_apply.register
def _(event: run.ContractFrozen, state: RunState) -> None:
    state.contract = frozen(state.contract, event.contract, granted_criteria(state))


@_apply.register
def _(event: run.IterationStarted, state: RunState) -> None:
    state.iteration = event.number
    state.iteration_reasons = event.reasons
    if event.forget:
        state.forgotten = frozenset(state.tasks)


@_apply.register
def _(event: run.IterationJudged, state: RunState) -> None:
    if event.again is None or event.again == state.judged_again:
        state.iterations = (*state.iterations[: event.number - 1], event.verdict)


@_apply.register
def _(event: run.RunDraining, state: RunState) -> None:
    state.is_draining = True


@_apply.register
def _(event: run.RunPaused, state: RunState) -> None:
    state.paused = event
    state.checks_since = None


@_apply.register
def _(event: run.ClockJumped, state: RunState) -> None:
    state.earlier_s -= event.by_s


@_apply.register
def _(event: run.PrOpened, state: RunState) -> None:
    state.pr = event
    if state.checks and (state.checks.ref, state.checks.commit) != (event.ref, event.head):
        state.checks, state.checks_since = None, None
    if event.group:
        state.prs[event.group] = event
        state.published = tuple(group for group in state.published if group != event.group)


@_apply.register
def _(event: forge.PrMerging, state: RunState) -> None:
    state.merging = event


@_apply.register
def _(event: forge.PrMerged, state: RunState) -> None:
    state.merged = event


@_apply.register
def _(event: forge.PrClosed, state: RunState) -> None:
    state.pr, state.checks, state.checks_since = None, None, None


@_apply.register
def _(event: run.RunEnded, state: RunState) -> None:
    state.ended = event
    state.published = ()


# --- people --------------------------------------------------------------------------------------------------------


@_apply.register
def _(event: people.CommandTaken, state: RunState) -> None:
    state.commands[event.key] = event.refused
    if not event.refused:
        obey(state, event.command, event.by)


@_apply.register
def _(event: people.ApprovalRequested, state: RunState) -> None:
    state.approvals[event.approval.item] = Answered(approval=event.approval)


@_apply.register
def _(event: people.ApprovalDecided, state: RunState) -> None:
    answer = answered(state, event.item, event.decision, event.by, event.reason)
    state.approvals[event.item] = answer
    if event.decision == "approve" and answer.approval.settings:
        state.overrides = (*state.overrides, answer.approval.settings)
    if event.decision == "approve" and answer.approval.recipe is not None:
        wish_revision(state, answer.approval.recipe)
    if event.decision == "approve" and state.contract:
        state.contract = state.contract.extended(answer.approval.criteria)


# --- planning and attempts -----------------------------------------------------------------------------------------


@_apply.register
def _(event: work.TaskCreated, state: RunState) -> None:
    state.tasks[event.spec.id] = TaskState(spec=event.spec)


@_apply.register
def _(event: work.PlanningStarted, state: RunState) -> None:
    _update(state, _task(state, event), TaskStatus.PLANNING, rounds=event.round)


@_apply.register
def _(event: work.PlanSubmitted, state: RunState) -> None:
    _update(state, _task(state, event), TaskStatus.WAITING)


@_apply.register
def _(event: work.PlanningEnded, state: RunState) -> None:
    _update(state, _task(state, event), TaskStatus.DONE, handoff=event.handoff)


@_apply.register
def _(event: work.AttemptStarted, state: RunState) -> None:
    task = _task(state, event)
    _update(state, task, TaskStatus.RUNNING, attempts=(*task.attempts, event.attempt), retry=None)


@_apply.register
def _(event: work.CandidateTaken, state: RunState) -> None:
    task = _task(state, event)
    _update(state, task, candidates=(*task.candidates, event))


@_apply.register
def _(event: work.AttemptEnded, state: RunState) -> None:
    task = _task(state, event)
    _update(state, task, TaskStatus.JUDGING, ends=(*task.ends, event), handoff=event.handoff or task.handoff)


@_apply.register
def _(event: work.VerdictGiven, state: RunState) -> None:
    task = _task(state, event)
    status = TaskStatus.QUEUED if event.verdict.kind == "merge" else None
    _update(state, task, status, verdicts=(*task.verdicts, event))


@_apply.register
def _(event: work.TaskEnded, state: RunState) -> None:
    _update(state, _task(state, event), event.status, reason=event.reason, cause=event.cause)


# --- conversations -------------------------------------------------------------------------------------------------


@_apply.register
def _(event: work.SessionStarted, state: RunState) -> None:
    task = state.tasks.get(event.task) if event.task is not None else None
    state.sessions[event.session] = SessionState(
        session=event.session,
        role=event.role,
        task=event.task,
        model=event.model,
        attempt=len(task.attempts) if task is not None else 0,
    )


@_apply.register
def _(event: work.ModelReplied, state: RunState) -> None:
    book_reply(state, event)
    _count_answer(state, event)


@_apply.register
def _(event: work.ModelFailed, state: RunState) -> None:
    book_failure(state, event)
    if event.error in {"lost", "script-exhausted"}:
        return  # nobody answered, or nothing was asked of anybody
    _count_answer(state, event)
    if event.pool and event.opens_at:
        state.pauses[event.pool] = max(event.opens_at, state.pauses.get(event.pool, event.opens_at))


def _count_answer(state: RunState, event: work.ModelReplied | work.ModelFailed) -> None:
    """Count by the model that was asked: a reply names the model that says it answered."""
    asked = state.open_intents.get(event.key)
    if event.task is not None:
        model = asked.model if isinstance(asked, work.ModelCalled) else state.sessions[event.session].model
        state.answers[f"{event.role} {event.task} {model}"] += 1


@_apply.register
def _(event: work.ToolReturned, state: RunState) -> None:
    called, session = state.open_intents.get(event.key), state.sessions.get(event.session)
    if not isinstance(called, work.ToolCalled) or len(state.oversteps) >= MOST:
        return
    repository = state.started.repository if state.started else ""
    state.oversteps += oversteps(called, event, session.attempt if session else 0, repository)


@_apply.register
def _(event: work.TurnEnded, state: RunState) -> None:
    session = state.sessions[event.session]
    state.sessions[event.session] = changed(session, turns=event.turn + 1)


@_apply.register
def _(event: work.SessionEnded, state: RunState) -> None:
    session = state.sessions[event.session]
    state.sessions[event.session] = changed(session, ended=event.exit)


# --- the queue -----------------------------------------------------------------------------------------------------


@_apply.register
def _(event: landing.RefSetting, state: RunState) -> None:
    if event.ref.startswith("refs/heads/"):
        state.pointed[event.ref] = (*state.pointed.get(event.ref, ()), event.object)


@_apply.register
def _(event: landing.TrialJudged, state: RunState) -> None:
    state.trials.append(event)


@_apply.register
def _(event: landing.UnitEjected, state: RunState) -> None:
    state.ejections.append(event)
    task = state.tasks.get(unit_task(event.unit))
    if task is not None:
        _update(state, task, ejections=(*task.ejections, event))


@_apply.register
def _(event: landing.LandingFinished, state: RunState) -> None:
    state.landings.append(event)
    landed(state, event.parts)
    for unit in event.units:
        task = state.tasks.get(unit_task(unit))
        if task is not None:
            _update(state, task, TaskStatus.MERGED)


# --- migrations ----------------------------------------------------------------------------------------------------

for _kind in (
    *(migration.FilesFound, migration.StepFinished, migration.FileMoved, migration.ShardsPlanned),
    *(migration.WaveStarted, migration.WaveEnded, migration.RecipeRevised, migration.ShardReverted),
    *(migration.RollbackRefused, migration.FilesFlagged),
):
    _apply.register(_kind, migrated)


# --- notifications -------------------------------------------------------------------------------------------------


@_apply.register
def _(event: outside.NotificationSending, state: RunState) -> None:
    if event.channel != "dir":  # at most once: begun is as good as sent
        state.notified[event.channel] = event.through


@_apply.register
def _(event: outside.NotificationSent, state: RunState) -> None:
    state.notified[event.channel] = max(event.through, state.notified.get(event.channel, 0))
