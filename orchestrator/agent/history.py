"""From turns to the messages a model sees, and from the journal back to turns, so that a session goes on.

What was said first never changes, so that the prefix stays cached.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reasoning, Reply, ToolCall
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import ModelCalled, ModelReplied, SessionEnded, SessionStarted, ToolReturned, TurnEnded
from orchestrator.domain.ids import SessionId, TreeId
from orchestrator.domain.run.task import Exit
from orchestrator.errors import JournalProblem
from orchestrator.ports.ledger import SessionMemory

ELIDE_ABOVE_SHARE = 0.6
"""Share of the context at which old observations are left out."""
ELIDE_DOWN_TO_SHARE = 0.3
"""Share of the context that the latest turns may keep whole then. The gap between the two is what has to be said
anew until it happens again: as long as that lasts, every request extends the one before."""
NOT_EXECUTED = "not executed: an earlier call of this reply failed or ended the session"
"""What stands for a call without an observation."""
WHOLE_LATEST_TURNS = 2
"""The latest turns that always stay whole."""
CHARS_PER_TOKEN = 4
"""A rough measure: code can need a third more tokens than that, for which the shares above leave room."""


@dataclass
class Turn:
    """One reply of the model and what its tools returned, by call id, as far as they were executed.

    `nudge` is what the harness said after it, `failed` tells that one of the tools refused or failed,
    `finish_reason` why the provider ended the reply. `reasoning` is the model's thinking before it, `model` the model
    that was asked, `usage` the tokens that the provider counted.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    observations: dict[str, str] = field(default_factory=dict)
    nudge: str = ""
    failed: bool = False
    finish_reason: str = ""
    reasoning: Reasoning | None = None
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    _built: dict[tuple[int, bool, str], tuple[Message, ...]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_reply(cls, reply: Reply) -> "Turn":
        """Return the turn that a reply begins."""
        return cls(
            reply.text,
            reply.tool_calls,
            finish_reason=reply.finish_reason,
            reasoning=reply.reasoning,
            model=reply.asked_model,
            usage=reply.usage,
        )

    def build_messages(self, index: int, *, is_elided: bool) -> tuple[Message, ...]:
        """Return the messages of the turn at a place of its conversation; kept, as each request has them again.

        Call it only once all its tools have returned.
        """
        key = (index, is_elided, self.nudge)
        if key not in self._built:
            self._built = {key: tuple(_build_turn_messages(self, index, is_elided=is_elided))}
        return self._built[key]

    @property
    def chars(self) -> int:
        """Its size in a request."""
        calls = sum(len(call.arguments) + len(call.name) for call in self.tool_calls)
        thinking = self.reasoning.size_chars if self.reasoning else 0
        return len(self.text) + thinking + calls + sum(map(len, self.observations.values())) + len(self.nudge)


@dataclass
class SessionHistory:
    """The turns so far. `opening` is a conversation that this one continues, or nothing."""

    system: str
    brief: str
    turns: list[Turn] = field(default_factory=list)
    opening: "SessionHistory | None" = None
    _elisions: dict[int, "_Elision"] = field(default_factory=dict, repr=False, compare=False)

    def list_all_turns(self) -> list[Turn]:
        """Return the turns of this conversation and of those it continues."""
        if self.opening is None:
            return list(self.turns)
        return [*self.opening.list_all_turns(), *self.turns]

    def build_messages(self, context_tokens: int) -> tuple[Message, ...]:
        """Return the messages of the next request, with old observations elided if the context is getting full.

        Those of earlier requests are the same objects, which keep what was derived from them. Turns may be added
        between two calls, and never changed.
        """
        elision = self._elisions.setdefault(context_tokens, _Elision(context_tokens))
        elided = elision.count_elided(self.list_all_turns())
        return (self._system_message, *self._build_conversation(elided))

    @cached_property
    def _system_message(self) -> Message:
        return Message(role="system", text=self.system)

    @cached_property
    def _brief_message(self) -> Message:
        return Message(role="user", text=self.brief)

    def _build_conversation(self, elided: int) -> list[Message]:
        first, messages = 0, list[Message]()
        if self.opening is not None:
            first, messages = len(self.opening.list_all_turns()), self.opening._build_conversation(elided)
        messages.append(self._brief_message)
        for index, turn in enumerate(self.turns, start=first):
            messages += turn.build_messages(index, is_elided=index < elided)
        return messages


def _build_turn_messages(turn: Turn, index: int, *, is_elided: bool) -> list[Message]:
    text = turn.text
    if not text.strip() and not turn.tool_calls:
        text = "(no answer)"
    said = Message(
        role="assistant", text=text, tool_calls=turn.tool_calls, reasoning=turn.reasoning, model=turn.model
    )
    messages = [said]
    for call in turn.tool_calls:
        text = turn.observations.get(call.id, NOT_EXECUTED)
        if is_elided and len(text) > 200:
            text = f"[output of step {index + 1}, {len(text)} characters, left out; run it again if you need it]"
        messages.append(Message(role="tool", text=text, call_id=call.id))
    if turn.nudge:
        messages.append(Message(role="user", text=turn.nudge))
    return messages


class _Elision:
    """The first turns that lose their observations; they grow in steps, never when nothing was said."""

    def __init__(self, context_tokens: int) -> None:
        context_chars = context_tokens * CHARS_PER_TOKEN
        self._high, self._low = int(context_chars * ELIDE_ABOVE_SHARE), int(context_chars * ELIDE_DOWN_TO_SHARE)
        self._seen = self._boundary = self._size = 0

    def count_elided(self, turns: Sequence[Turn]) -> int:
        """Return how many of the first turns lose their observations, after those that were added since."""
        for index in range(self._seen, len(turns)):
            self._size += turns[index].chars
            if self._size > self._high:
                self._elide(turns, index + 1 - WHOLE_LATEST_TURNS)
        self._seen = len(turns)
        return self._boundary

    def _elide(self, turns: Sequence[Turn], before: int) -> None:
        while self._boundary < before and self._size > self._low:
            self._size -= turns[self._boundary].chars
            self._boundary += 1


@dataclass
class RestoredSession:
    """A conversation as it was left.

    `unfinished` is a reply whose tools had not all returned; `tree` is the workspace after the last whole turn.
    `asked_model` is the model of the latest call.
    """

    conversation: SessionHistory
    unfinished: Turn | None = None
    tree: TreeId | None = None
    ended: Exit | None = None
    detail: str = ""
    asked_model: str = ""


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
        case ModelCalled() as called:
            restored.asked_model = called.model
        case ModelReplied() as replied:
            reply = await read_reply(ledger, replied)
            restored.unfinished = Turn.from_reply(reply.model_copy(update={"asked_model": restored.asked_model}))
        case ToolReturned() as returned if restored.unfinished:
            restored.unfinished.observations[returned.call_id] = await ledger.read_text(returned.observation)
            restored.unfinished.failed |= not returned.ok
        case TurnEnded() as ended if restored.unfinished:
            restored.unfinished.nudge = ended.nudge
            restored.conversation.turns.append(restored.unfinished)
            restored.unfinished, restored.tree = None, ended.tree
        case SessionEnded() as ended:
            restored.ended, restored.detail = ended.exit, ended.detail


async def read_reply(memory: SessionMemory, replied: ModelReplied) -> Reply:
    """Return the reply that an event keeps, without the name of the model that was asked."""
    reasoning = Reasoning(
        text=await memory.read_text(replied.reasoning),
        blocks=await memory.read_text(replied.reasoning_blocks),
        is_withheld=replied.is_reasoning_withheld,
    )
    return Reply(
        text=await memory.read_text(replied.text),
        tool_calls=replied.tool_calls,
        reasoning=None if reasoning == Reasoning() else reasoning,
        model=replied.model,
        finish_reason=replied.finish_reason,
        usage=replied.usage,
        seconds=replied.seconds,
    )
