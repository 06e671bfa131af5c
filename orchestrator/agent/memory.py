"""Recalling a conversation from the journal, so that a session goes on from its last whole turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.agent.history import Conversation, Turn
from orchestrator.domain.attempt import Exit
from orchestrator.domain.event import Recorded
from orchestrator.domain.event.work import ModelReplied, SessionEnded, SessionStarted, ToolReturned, TurnEnded
from orchestrator.domain.ids import SessionId, TreeId
from orchestrator.errors import JournalProblem
from orchestrator.ports.ledger import Memory


@dataclass
class Remembered:
    """A conversation as it was left.

    `unfinished` is a reply whose tools had not all returned; `tree` is the workspace after the last whole turn.
    """

    conversation: Conversation
    unfinished: Turn | None = None
    tree: TreeId | None = None
    ended: Exit | None = None
    detail: str = ""


async def recall(ledger: Memory, session: SessionId, until: int | None = None) -> Remembered | None:
    """What the journal holds of a session, up to and with turn `until` if that is given; None if it never began."""
    events = await ledger.session(session)
    if not events:
        return None
    remembered = Remembered(await _opening(ledger, events))
    for recorded in events[1:]:
        await _remember(ledger, remembered, recorded)
        if until is not None and len(remembered.conversation.turns) > until:
            break
    return remembered


async def _opening(ledger: Memory, events: Sequence[Recorded]) -> Conversation:
    started = events[0].event
    if not isinstance(started, SessionStarted):
        raise JournalProblem(f"event {events[0].seq} belongs to a session that never began")
    before = await recall(ledger, started.continues, started.turn) if started.continues else None
    return Conversation(
        system=await ledger.read(started.system),
        brief=await ledger.read(started.brief),
        opening=before.conversation if before else None,
    )


async def _remember(ledger: Memory, remembered: Remembered, recorded: Recorded) -> None:
    match recorded.event:
        case ModelReplied() as reply:
            text = await ledger.read(reply.text)
            remembered.unfinished = Turn(text, reply.tool_calls, finish_reason=reply.finish_reason)
        case ToolReturned() as returned if remembered.unfinished:
            remembered.unfinished.observations[returned.call_id] = await ledger.read(returned.observation)
            remembered.unfinished.failed |= not returned.ok
        case TurnEnded() as ended if remembered.unfinished:
            remembered.unfinished.nudge = ended.nudge
            remembered.conversation.turns.append(remembered.unfinished)
            remembered.unfinished, remembered.tree = None, ended.tree
        case SessionEnded() as ended:
            remembered.ended, remembered.detail = ended.exit, ended.detail
