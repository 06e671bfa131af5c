"""What the journal knows of the sessions that agents of other makers keep by themselves."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from orchestrator.agent.guests.agent_sessions import find_earlier_tries
from orchestrator.domain.event.base import Event, RecordedEvent
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.ids import SessionId
from orchestrator.domain.text.blob_text import Text

FIRST, SECOND = SessionId("a/1"), SessionId("a/2")


class RecordedSessions:
    """A `ports.ledger.SessionMemory` of these events."""

    def __init__(self, events: Mapping[SessionId, Sequence[Event]]) -> None:
        self._events = events

    async def read_text(self, text: Text) -> str:
        return text.head

    async def list_session_events(self, session: SessionId) -> list[RecordedEvent]:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        return [RecordedEvent(seq=1, at=now, event=event) for event in self._events.get(session, ())]


def tries(session: SessionId, engine: str, *names: str) -> Sequence[Event]:
    """The events of tries of one conversation, each with a session of its own."""
    events: list[Event] = []
    for begun, name in enumerate(names, start=1):
        events.append(GuestStarted(session=session, engine=engine, begun=begun))
        if name:
            events.append(GuestSessionOpened(session=session, agent_session=name))
    return events


async def test_a_conversation_that_never_began_has_nothing_to_go_on_with() -> None:
    assert await find_earlier_tries(RecordedSessions({}), FIRST, None, "pal") == (0, "")


async def test_a_resumed_one_goes_on_with_its_own_newest_session_and_counts_its_starts() -> None:
    memory = RecordedSessions({FIRST: tries(FIRST, "pal", "s1", "s2", "")})
    assert await find_earlier_tries(memory, FIRST, None, "pal") == (3, "s2")


async def test_a_feedback_round_goes_on_with_the_session_of_the_attempt_before() -> None:
    memory = RecordedSessions({FIRST: tries(FIRST, "pal", "s1", "s2")})
    assert await find_earlier_tries(memory, SECOND, FIRST, "pal") == (0, "s2")
    assert await find_earlier_tries(memory, SECOND, None, "pal") == (0, "")


async def test_a_session_of_another_engine_is_none_of_this_one() -> None:
    memory = RecordedSessions({FIRST: tries(FIRST, "pal", "s1")})
    assert await find_earlier_tries(memory, SECOND, FIRST, "mate") == (0, "")
