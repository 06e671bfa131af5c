"""Refuse events that cannot have happened after those before them: they name what is unknown, or leave something out.

Only what reads a journal asks for this. What an engine appends follows from the state that it looks at.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from orchestrator.domain.event import guests, migration, run, work
from orchestrator.domain.event.base import Done, Event, Intent, RecordedEvent
from orchestrator.domain.ids import ROOT_TASK, build_effect_key, parse_effect_name
from orchestrator.domain.run.state import RunState


class ImpossibleEvent(ValueError):
    """An event cannot have happened after those before it."""


def require_possible(state: RunState, recorded: RecordedEvent) -> None:
    """Make sure that an event can have happened in a state.

    Raises:
        ImpossibleEvent: it cannot.
    """
    if recorded.seq != state.seq + 1:
        raise ImpossibleEvent(f"it follows event {state.seq}")
    event = recorded.event
    for require in _select_checks(type(event)):
        require(state, event)


_Check: TypeAlias = Callable[[RunState, Any], None]


@cache
def _select_checks(kind: type[Event]) -> tuple[_Check, ...]:
    return tuple(check for kinds, check in _CHECKS if issubclass(kind, kinds))


def _require_next_number(event: Event, noun: str, number: int, last: int) -> None:
    if number != last + 1:
        raise ImpossibleEvent(f"{event.kind} begins {noun} {number}, but the last one was {last}")


def _require_only_once(state: RunState, event: run.RunStarted) -> None:
    if state.started is not None:
        raise ImpossibleEvent(f"{event.kind} begins a run that had begun")


def _require_newer_engine(state: RunState, event: run.EngineStarted) -> None:
    if event.epoch <= state.epoch:
        raise ImpossibleEvent(f"{event.kind} has epoch {event.epoch}, but that of the last one was {state.epoch}")


def _require_next_try(state: RunState, event: Intent) -> None:
    name = parse_effect_name(event.key)
    key = build_effect_key(name, state.effect_tries[name])
    if event.key != key:
        raise ImpossibleEvent(f"{event.kind} begins {event.key!r}, but the next try is {key!r}")


def _require_open_intent(state: RunState, event: Done) -> None:
    if event.key not in state.open_intents:
        raise ImpossibleEvent(f"{event.kind} ends {event.key!r}, which is not under way")


def _require_new_session(state: RunState, event: work.SessionStarted) -> None:
    if event.session in state.sessions:
        raise ImpossibleEvent(f"{event.kind} begins session {event.session!r}, which had begun")
    if event.continues is not None and event.continues not in state.sessions:
        raise ImpossibleEvent(f"{event.kind} continues session {event.continues!r}, which never began")


_SessionEvent: TypeAlias = work.TurnEnded | work.ContextFilled | work.ConversationCarriedOver | work.SessionEnded
_GuestEvent: TypeAlias = guests.GuestStarted | guests.GuestSessionOpened
_InSession: TypeAlias = work.TurnIntent | work.TurnDone | _SessionEvent | _GuestEvent


def _require_known_session(state: RunState, event: _InSession) -> None:
    if event.session not in state.sessions:
        raise ImpossibleEvent(f"{event.kind} names session {event.session!r}, which never began")


def _require_new_task(state: RunState, event: work.TaskCreated) -> None:
    if event.spec.id in state.tasks:
        raise ImpossibleEvent(f"{event.kind} names task {event.spec.id!r}, which had been created")
    if event.spec.id == ROOT_TASK and not state.goal.iteration:
        raise ImpossibleEvent(f"{event.kind} names task {event.spec.id!r}, but no iteration has begun")


def _require_next_iteration(state: RunState, event: run.IterationStarted) -> None:
    _require_next_number(event, "iteration", event.number, state.goal.iteration)


def _require_current_iteration(state: RunState, event: run.IterationJudged | run.IterationReopened) -> None:
    if event.number != state.goal.iteration:
        raise ImpossibleEvent(f"{event.kind} is about iteration {event.number} during iteration {state.goal.iteration}")


def _require_next_round(state: RunState, event: work.PlanningStarted) -> None:
    if event.task in state.tasks:
        _require_next_number(event, "round", event.round, state.tasks[event.task].rounds)


def _require_next_attempt(state: RunState, event: work.AttemptStarted) -> None:
    if event.task in state.tasks:
        _require_next_number(event, "attempt", event.attempt.number, len(state.tasks[event.task].attempts))


_OfAttempt: TypeAlias = work.CandidateTaken | work.CandidateComposed | work.AttemptEnded | work.VerdictGiven


def _require_known_attempt(state: RunState, event: _OfAttempt) -> None:
    if event.task in state.tasks and not 0 < event.number <= len(state.tasks[event.task].attempts):
        raise ImpossibleEvent(f"{event.kind} names attempt {event.number} of {event.task!r}, which never began")


def _require_known_shards(state: RunState, event: migration.WaveStarted) -> None:
    for shard in event.shards:
        if shard not in state.migration.shards:
            raise ImpossibleEvent(f"{event.kind} names shard {shard!r}, which was never planned")


_CHECKS: tuple[tuple[type[Event] | tuple[type[Event], ...], _Check], ...] = (
    (run.RunStarted, _require_only_once),
    (run.EngineStarted, _require_newer_engine),
    (Intent, _require_next_try),
    (Done, _require_open_intent),
    (work.SessionStarted, _require_new_session),
    ((work.TurnIntent, work.TurnDone, work.TurnEnded, work.SessionEnded), _require_known_session),
    ((work.ContextFilled, work.ConversationCarriedOver), _require_known_session),
    ((guests.GuestStarted, guests.GuestSessionOpened), _require_known_session),
    (work.TaskCreated, _require_new_task),
    (run.IterationStarted, _require_next_iteration),
    ((run.IterationJudged, run.IterationReopened), _require_current_iteration),
    (work.PlanningStarted, _require_next_round),
    (work.AttemptStarted, _require_next_attempt),
    ((work.CandidateTaken, work.AttemptEnded, work.VerdictGiven), _require_known_attempt),
    (work.CandidateComposed, _require_known_attempt),
    (migration.WaveStarted, _require_known_shards),
)
