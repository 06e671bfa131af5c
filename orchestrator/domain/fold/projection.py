"""Fold events to the state of a run. The only place where an event changes anything."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from orchestrator.domain.event import forge, landing, migration, people, run, work
from orchestrator.domain.event.base import Done, Event, Intent, RecordedEvent
from orchestrator.domain.fold import hosts, spend
from orchestrator.domain.fold.run import apply_run_event
from orchestrator.domain.ids import parse_effect_name
from orchestrator.domain.migration.burndown import record_tick
from orchestrator.domain.run.state import RunState


def fold_events(events: Iterable[RecordedEvent], onto: RunState | None = None) -> RunState:
    """Return the state after `events`.

    Args:
        events: in journal order.
        onto: a state to go on from; it is the caller's own and is advanced in place. None starts empty.

    Raises:
        IllegalTransition: an event moves something where its transition table does not allow it.
        ContractAltered: an event changes the contract, which only people can.
    """
    state = RunState() if onto is None else onto
    for recorded in events:
        apply_recorded_event(state, recorded)
    return state


def apply_recorded_event(state: RunState, recorded: RecordedEvent) -> None:
    """Apply one event to a state that the caller owns."""
    event, at = recorded.event, recorded.at
    steps = _find_steps(type(event))
    for record in steps.before:
        record(state, event, at)
    file_before = state.migration.files.get(event.path) if isinstance(event, migration.FileMoved) else None
    steps.apply(event, state)
    state.seq, state.last_at = recorded.seq, at
    for record in steps.after:
        record(state, event, at)
    record_tick(state, event, at, file_before)


_Recorder: TypeAlias = Callable[[RunState, Any, datetime], None]
_Kinds: TypeAlias = type[Event] | tuple[type[Event], ...]


class _Steps(NamedTuple):
    """The functions for events of a kind: before they are applied, when they are, and afterwards."""

    before: tuple[_Recorder, ...]
    apply: Callable[[Event, RunState], None]
    after: tuple[_Recorder, ...]


@cache
def _find_steps(kind: type[Event]) -> _Steps:
    """Return the steps of a kind of event.

    They are looked up once for each kind: to ask each event what it is would take half of the time of a fold.
    """
    return _Steps(_select_recorders(_BEFORE, kind), apply_run_event.dispatch(kind), _select_recorders(_AFTER, kind))


def _select_recorders(table: tuple[tuple[_Kinds, _Recorder], ...], kind: type[Event]) -> tuple[_Recorder, ...]:
    return tuple(record for kinds, record in table if issubclass(kind, kinds))


def _begin_effect(state: RunState, event: Intent, _at: datetime) -> None:
    state.effect_tries[parse_effect_name(event.key)] += 1
    state.open_intents[event.key] = event


def _begin_epoch(state: RunState, _event: run.EngineStarted, at: datetime) -> None:
    state.earlier_s = state.settled_s = state.wall_s
    state.epoch_at = at
    if state.last_at is not None and at < state.last_at:  # the clock was set back between two engines
        spend.shift_deadlines(state, at - state.last_at)


def _end_effect(state: RunState, event: Done, _at: datetime) -> None:
    state.open_intents.pop(event.key, None)


def _record_landing_time(state: RunState, _event: landing.LandingFinished, at: datetime) -> None:
    state.landed_at.append(at)


_BEFORE: tuple[tuple[_Kinds, _Recorder], ...] = (
    (Intent, _begin_effect),
    (run.EngineStarted, _begin_epoch),
    (run.EngineStarted, hosts.close_hosts),
    (hosts.HOST_EVENTS, hosts.record_host),
    (work.WorkspaceLeased, hosts.record_workspace_host),
    ((people.ApprovalRequested, people.ApprovalDecided), spend.record_question_time),
    (forge.ChecksSeen, spend.record_forge_checks),
)
_AFTER: tuple[tuple[_Kinds, _Recorder], ...] = (
    (Done, _end_effect),
    (landing.LandingFinished, _record_landing_time),
    (spend.TIMED_EVENTS, spend.record_work_time),
)
