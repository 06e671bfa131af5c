"""Find the last event of a conversation, to show it and to notice a stall."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.event import RecordedEvent, work
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.log.event_descriptions import describe_event
from orchestrator.report.log.tool_calls import format_tool_call

_LOOKED_AT = 1_000
_SHOWN = 200


SILENT_KINDS = frozenset({"model.called", "turn.ended", "snapshot.taking", "snapshot.taken", "session.ended"})
"""Kinds of events that are signs of life and say nothing new."""

EVENTS_TO_READ = 6
"""So many of a conversation's last events always hold one that says something."""


@dataclass(frozen=True)
class LastSessionEvent:
    """The last event of a conversation: when, in words (one line without control characters), and its kind."""

    at: datetime
    words: str
    turn: int | None = None
    kind: str = ""


def find_last_session_event(events: Sequence[RecordedEvent]) -> LastSessionEvent | None:
    """Return the last of a conversation's events, which are given oldest first; None without any.

    Its words are those of the last event that says something, its time is that of the very last.
    """
    if not events:
        return None
    last = events[-1]
    telling = next((one for one in reversed(events) if one.event.kind not in SILENT_KINDS), last)
    return LastSessionEvent(
        last.at, describe_event_briefly(telling), getattr(last.event, "turn", None), last.event.kind
    )


def describe_event_briefly(recorded: RecordedEvent) -> str:
    """Return the event in a few words, without its task and session."""
    match recorded.event:
        case work.ModelCalled(turn=turn):
            said = f"asks its model, turn {turn + 1}"
        case work.ModelReplied() as reply:
            said = reply.text.head[:_LOOKED_AT] or "uses " + ", ".join(call.name for call in reply.tool_calls)
        case work.ToolCalled(name=name, arguments=arguments):
            said = format_tool_call(name, arguments.head)
        case work.ToolReturned(name=name, ok=ok, observation=observation):
            said = f"{name} {'ok' if ok else 'refused'}: {observation.head[:_LOOKED_AT]}"
        case work.TurnEnded(turn=turn):
            said = f"turn {turn + 1} is over"
        case work.SnapshotTaking() | work.SnapshotTaken():
            said = "keeps its workspace"
        case work.ContextFilled():
            said = "fills its context and is asked for a carryover"
        case work.ConversationCarriedOver():
            said = "goes on in a fresh context"
        case work.SessionStarted() | work.SessionEnded() as event:
            said = describe_event(event).replace(f"({event.session})", "").replace(event.session, "").strip()
        case event:
            said = describe_event(event)[:_LOOKED_AT]
    return to_one_line(said, _SHOWN)
