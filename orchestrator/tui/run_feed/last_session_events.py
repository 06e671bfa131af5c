"""The last event of each conversation, put into words only when somebody looks."""

from collections.abc import Iterator, Mapping
from functools import cache

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.report.log.last_event import SILENT_KINDS, LastSessionEvent, find_last_session_event


class LastSessionEvents(Mapping[SessionId, LastSessionEvent]):
    """By conversation, its last event. It costs as good as nothing to add one that nobody looks at."""

    def __init__(self) -> None:
        self._events: dict[SessionId, tuple[RecordedEvent, ...]] = {}
        self._descriptions: dict[SessionId, tuple[int, LastSessionEvent]] = {}

    def record_event(self, recorded: RecordedEvent) -> None:
        """Record an event, if it is one of a conversation."""
        event = recorded.event
        if not _has_session(type(event)):
            return
        session: SessionId = event.session  # type: ignore[attr-defined]
        before = self._events.get(session, ()) if event.kind in SILENT_KINDS else ()
        self._events[session] = (*before[:1], recorded)

    def __getitem__(self, session: SessionId) -> LastSessionEvent:
        events = self._events[session]
        known = self._descriptions.get(session)
        if known is None or known[0] != events[-1].seq:
            last_event = find_last_session_event(events)
            assert last_event is not None
            known = self._descriptions[session] = (events[-1].seq, last_event)
        return known[1]

    def __iter__(self) -> Iterator[SessionId]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)


@cache
def _has_session(kind: type[Event]) -> bool:
    return "session" in kind.model_fields
