"""The names of a run's spans: what they are told apart by, and derived their ids from."""

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.event.external import HookFinished, HookStarted
from orchestrator.domain.event.landing import LandingFinished, LandingStarted
from orchestrator.domain.event.migration import StepFinished, StepStarted
from orchestrator.domain.event.run import CheckFinished, CheckReused, CheckStarted
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    CandidateComposed,
    CandidateTaken,
    LensVoted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    SessionEnded,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    TurnDone,
    TurnEnded,
    TurnIntent,
    VerdictGiven,
)
from orchestrator.domain.ids import SessionId, TaskId

RUN_SPAN = "run"
SPAN_EFFECTS = (
    *(ModelCalled, ModelReplied, ModelFailed, ToolCalled, ToolReturned, CheckStarted, CheckFinished, CheckReused),
    *(LandingStarted, LandingFinished, HookStarted, HookFinished, StepStarted, StepFinished),
)
"""The events of effects that have a span of their own. That one was abandoned may also be said of others."""


def name_task_span(task: TaskId) -> str:
    """Return the name of a task's span."""
    return f"task {task}"


def name_attempt_span(task: TaskId, number: int) -> str:
    """Return the name of an attempt's span."""
    return f"attempt {task}@{number}"


def name_session_span(session: SessionId) -> str:
    """Return the name of a conversation's span."""
    return f"session {session}"


def name_turn_span(session: SessionId, turn: int) -> str:
    """Return the name of the span of one turn of a conversation."""
    return f"turn {session} {turn}"


def name_effect_span(key: str) -> str:
    """Return the name of the span of an effect: a model call, a tool, a check, a landing, a hook."""
    return f"effect {key}"


def name_event_span(event: Event) -> str:
    """Return the name of the span that an event belongs to."""
    if isinstance(event, SPAN_EFFECTS) and isinstance(event, Intent | Done):
        return name_effect_span(event.key)
    if isinstance(event, TurnIntent | TurnDone | TurnEnded):
        return name_turn_span(event.session, event.turn)
    if isinstance(event, SessionStarted | SessionEnded):
        return name_session_span(event.session)
    if isinstance(event, AttemptStarted):
        return name_attempt_span(event.attempt.task, event.attempt.number)
    of_attempt = AttemptEnded | CandidateTaken | CandidateComposed | VerdictGiven | LensVoted
    if isinstance(event, of_attempt) and event.task is not None:
        return name_attempt_span(event.task, event.number)
    return name_task_span(event.task) if event.task is not None else RUN_SPAN
