"""The sessions that agents of other makers keep by themselves, as the journal knows them."""

from typing import NamedTuple

from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.ids import SessionId
from orchestrator.ports.ledger import SessionMemory


class EarlierTries(NamedTuple):
    """The starts of a guest in one conversation so far, and the newest session of its own that it may go on with.

    `agent_session` is empty where there is none: it never had one, or another engine worked then.
    """

    starts: int
    agent_session: str


async def find_earlier_tries(
    memory: SessionMemory, session: SessionId, before: SessionId | None, engine: str
) -> EarlierTries:
    """Return what the journal has of a conversation; a first start may go on with the session of the one `before`."""
    starts, found = await _read_tries(memory, session, engine)
    if not found and before is not None:
        found = (await _read_tries(memory, before, engine)).agent_session
    return EarlierTries(starts, found)


async def _read_tries(memory: SessionMemory, session: SessionId, engine: str) -> EarlierTries:
    starts, found, worker = 0, "", ""
    for recorded in await memory.list_session_events(session):
        match recorded.event:
            case GuestStarted() as started:
                starts, worker = max(starts, started.begun), started.engine
            case GuestSessionOpened() as opened if worker == engine:
                found = opened.agent_session
    return EarlierTries(starts, found)
