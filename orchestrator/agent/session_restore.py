"""Recalling a conversation from the journal, so that a session goes on from its last whole turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.agent.history import SessionHistory, Turn
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import ModelReplied, SessionEnded, SessionStarted, ToolReturned, TurnEnded
from orchestrator.domain.ids import SessionId, TreeId
from orchestrator.domain.run.attempt import Exit
from orchestrator.errors import JournalProblem
from orchestrator.ports.ledger import SessionMemory


@dataclass
class RestoredSession:
    """A conversation as it was left.

    `unfinished` is a reply whose tools had not all returned; `tree` is the workspace after the last whole turn.
    """

    conversation: SessionHistory
    unfinished: Turn | None = None
    tree: TreeId | None = None
    ended: Exit | None = None
    detail: str = ""


async def restore_session(
    ledger: SessionMemory, session: SessionId, until: int | None = None
) -> RestoredSession | None:
    """Return what the journal holds of a session, up to and with turn `until` if given; None if it never began."""
    events = await ledger.list_session_events(session)
    if not events:
        return None
    restored = RestoredSession(await _restore_opening(ledger, events))
    for recorded in events[1:]:
        await _apply_event(ledger, restored, recorded)
        if until is not None and len(restored.conversation.turns) > until:
            break
    return restored


async def _restore_opening(ledger: SessionMemory, events: Sequence[RecordedEvent]) -> SessionHistory:
    started = events[0].event
    if not isinstance(started, SessionStarted):
        raise JournalProblem(f"event {events[0].seq} belongs to a session that never began")
    before = await restore_session(ledger, started.continues, started.turn) if started.continues else None
    return SessionHistory(
        system=await ledger.read_text(started.system),
        brief=await ledger.read_text(started.brief),
        opening=before.conversation if before else None,
    )


async def _apply_event(ledger: SessionMemory, restored: RestoredSession, recorded: RecordedEvent) -> None:
    match recorded.event:
        case ModelReplied() as reply:
            text = await ledger.read_text(reply.text)
            restored.unfinished = Turn(text, reply.tool_calls, finish_reason=reply.finish_reason)
        case ToolReturned() as returned if restored.unfinished:
            restored.unfinished.observations[returned.call_id] = await ledger.read_text(returned.observation)
            restored.unfinished.failed |= not returned.ok
        case TurnEnded() as ended if restored.unfinished:
            restored.unfinished.nudge = ended.nudge
            restored.conversation.turns.append(restored.unfinished)
            restored.unfinished, restored.tree = None, ended.tree
        case SessionEnded() as ended:
            restored.ended, restored.detail = ended.exit, ended.detail
