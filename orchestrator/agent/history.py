"""From turns to the messages a model sees, and from the journal back to turns, so that a session goes on.

What was said first never changes, so that the prefix stays cached. Where the context was full, a carryover stands for
all turns before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.agent.context_size import CHARS_PER_TOKEN
from orchestrator.agent.elision import ASKED_WHOLE_SHARE, ConversationPiece, Elision
from orchestrator.agent.turn import Turn, count_chars
from orchestrator.domain.chat import Message, Reasoning, Reply
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import (
    ContextFilled,
    ConversationCarriedOver,
    ModelCalled,
    ModelReplied,
    SessionEnded,
    SessionStarted,
    ToolReturned,
    TurnEnded,
)
from orchestrator.domain.ids import SessionId, TreeId
from orchestrator.domain.run.task import Exit
from orchestrator.domain.text.encoding import decode_json
from orchestrator.errors import JournalProblem
from orchestrator.llm.reasoning_rules import ReasoningRule
from orchestrator.ports.ledger import SessionMemory

_MIDDLE_BRIEFS_SHARE = 1 / 8
"""Share of the context for briefs between the first and the last, the newest first, once turns were carried over."""


@dataclass(frozen=True)
class Carryover:
    """Words that stand for all turns before `turn`, counted in their session."""

    turn: int
    words: str

    @cached_property
    def message(self) -> Message:
        """The words as they are said."""
        return Message(role="user", text=self.words)


@dataclass
class SessionHistory:
    """The turns so far. `opening` is a conversation that this one continues, or nothing.

    `asks` are requests for a carryover, by the turn of this session that answers first; `carryovers` came of them.
    `tool_chars` is the size of the tools on offer, 0 where it was not recorded.
    """

    system: str
    brief: str
    turns: list[Turn] = field(default_factory=list)
    opening: "SessionHistory | None" = None
    asks: dict[int, Message] = field(default_factory=dict)
    carryovers: list[Carryover] = field(default_factory=list)
    tool_chars: int = 0
    _elisions: dict[tuple[int, ReasoningRule, int], Elision] = field(default_factory=dict, repr=False, compare=False)

    def list_all_turns(self) -> list[Turn]:
        """Return the turns of this conversation and of those it continues."""
        if self.opening is None:
            return list(self.turns)
        return [*self.opening.list_all_turns(), *self.turns]

    def list_current_turns(self) -> list[Turn]:
        """Return the turns of this session since the last carryover, without those that answer a request for one."""
        return self.turns[self._start : self.pending_ask]

    def count_replies(self) -> int:
        """Return how many turns of this session count: those that a person interrupted cost none."""
        return sum(not turn.is_interrupted for turn in self.turns)

    @property
    def pending_ask(self) -> int | None:
        """The turn that a carryover was asked for at, as long as there is none."""
        latest = max(self.asks, default=None)
        if latest is None or (self.carryovers and latest <= self._start):
            return None
        return latest

    def cut_before(self, turn: int) -> "SessionHistory":
        """Return the conversation as it was when the model was asked for a turn of this session."""
        cut = SessionHistory(self.system, self.brief, self.turns[:turn], self.opening, tool_chars=self.tool_chars)
        for place, ask in self.asks.items():
            if place <= turn:
                cut.asks[place] = ask
        for carryover in self.carryovers:
            if carryover.turn <= turn:
                cut.carryovers.append(carryover)
        return cut

    def drop_pending_ask(self) -> None:
        """Forget a request for a carryover that nothing came of, with its answers: another session goes on."""
        asked = self.pending_ask
        if asked is not None:
            del self.asks[asked]
            del self.turns[asked:]

    def build_messages(self, context_tokens: int, rule: ReasoningRule = ReasoningRule.ALL) -> tuple[Message, ...]:
        """Return the messages of the next request, with old texts elided if the context is getting full.

        Those of earlier requests are the same objects, which keep what was derived from them. Turns may be added
        between two calls, and never changed. `rule` says which thinking stays in turns that are elided.
        """
        pieces = self._list_pieces(context_tokens)
        elision = self._get_elision(context_tokens, rule)
        elided = elision.elide_old(pieces)
        if self.pending_ask is not None and elision.is_above(ASKED_WHOLE_SHARE):
            elided = elision.elide_all()
        messages, index = [self._system_message], self._count_carried_turns()
        for piece in pieces:
            if isinstance(piece, Message):
                messages.append(piece)
                continue
            messages += piece.build_messages(index, is_elided=index < elided.texts, thinks=index >= elided.thinking)
            index += 1
        return tuple(messages)

    def count_tokens(
        self, messages: Sequence[Message], context_tokens: int, rule: ReasoningRule = ReasoningRule.ALL
    ) -> float:
        """Return how many tokens messages take, by what was counted for earlier requests."""
        return self._get_elision(context_tokens, rule).meter.count_tokens(count_chars(messages, rule))

    def count_tool_tokens(self, context_tokens: int, rule: ReasoningRule = ReasoningRule.ALL) -> float:
        """Return how many tokens of a counted request are the tools on offer; 0 while none was counted."""
        return self._get_elision(context_tokens, rule).meter.tool_tokens

    def list_beginning(self, context_tokens: int) -> tuple[Message, ...]:
        """Return the messages with which a fresh context begins, before the carryover."""
        return (self._system_message, *self._list_kept_briefs(context_tokens))

    def list_carried_turns(self, context_tokens: int) -> list[Turn]:
        """Return the turns that a carryover would stand for now, those of an opening included."""
        turns = list[Turn]()
        for piece in self._list_pieces(context_tokens):
            if isinstance(piece, Turn):
                turns.append(piece)
        answers = 0 if self.pending_ask is None else len(self.turns) - self.pending_ask
        return turns[: len(turns) - answers]

    def find_latest_carryover(self) -> str:
        """Return the words that the present context begins with after the task; empty if it is the first one."""
        if self.carryovers:
            return self.carryovers[-1].words
        return self.opening.find_latest_carryover() if self.opening else ""

    @property
    def _start(self) -> int:
        return self.carryovers[-1].turn if self.carryovers else 0

    @cached_property
    def _system_message(self) -> Message:
        return Message(role="system", text=self.system)

    @cached_property
    def _brief_message(self) -> Message:
        return Message(role="user", text=self.brief)

    def _list_pieces(self, context_tokens: int) -> list[ConversationPiece]:
        """Return what the next request holds after the system's message."""
        pieces: list[ConversationPiece]
        if self.carryovers:
            pieces = [*self._list_kept_briefs(context_tokens), self.carryovers[-1].message]
        else:
            pieces = self.opening._list_pieces(context_tokens) if self.opening else []
            pieces.append(self._brief_message)
        for place in range(self._start, len(self.turns) + 1):
            if place in self.asks and (place > self._start or not self.carryovers):
                pieces.append(self.asks[place])
            pieces += self.turns[place : place + 1]
        return pieces

    def _list_briefs(self) -> list[Message]:
        earlier = self.opening._list_briefs() if self.opening else []
        return [*earlier, self._brief_message]

    def _list_kept_briefs(self, context_tokens: int) -> list[Message]:
        """Return the first and the last brief, and of those between them the newest that there is room for."""
        first, *later = self._list_briefs()
        room = context_tokens * CHARS_PER_TOKEN * _MIDDLE_BRIEFS_SHARE
        kept = later[-1:]
        for brief in reversed(later[:-1]):
            room -= brief.size_chars
            if room < 0:
                break
            kept.insert(0, brief)
        return [first, *kept]

    def _count_carried_turns(self) -> int:
        """Return how many of all turns the latest carryover stands for, here or in what this one continues."""
        if self.carryovers:
            return len(self.list_all_turns()) - len(self.turns) + self._start
        return self.opening._count_carried_turns() if self.opening else 0

    def _get_elision(self, context_tokens: int, rule: ReasoningRule) -> Elision:
        key = (context_tokens, rule, len(self.carryovers))
        if key not in self._elisions:
            system_chars = self._system_message.size_chars
            carried = self._count_carried_turns()
            self._elisions[key] = Elision(context_tokens, rule, carried, system_chars, self.tool_chars)
        return self._elisions[key]


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
        is_whole = until is not None and len(restored.conversation.turns) > until
        if is_whole and not isinstance(recorded.event, ConversationCarriedOver):
            break
        await _apply_event(ledger, restored, recorded)
    return restored


async def _restore_opening(ledger: SessionMemory, events: Sequence[RecordedEvent]) -> SessionHistory:
    started = events[0].event
    if not isinstance(started, SessionStarted):
        raise JournalProblem(f"event {events[0].seq} belongs to a session that never began")
    return SessionHistory(
        system=await ledger.read_text(started.system),
        brief=await ledger.read_text(started.brief),
        opening=await restore_opening(ledger, started.continues, started.turn),
        tool_chars=started.tool_chars,
    )


async def restore_opening(
    ledger: SessionMemory, continues: SessionId | None, until: int | None
) -> SessionHistory | None:
    """Return the conversation that another session goes on from, or None if it begins by itself."""
    before = await restore_session(ledger, continues, until) if continues else None
    if before is None:
        return None
    before.conversation.drop_pending_ask()
    return before.conversation


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
        case ContextFilled() as filled:
            words = await ledger.read_text(filled.words)
            restored.conversation.asks[filled.turn] = Message(role="user", text=words)
        case ConversationCarriedOver() as carried:
            words = await ledger.read_text(carried.words)
            restored.conversation.carryovers.append(Carryover(carried.turn, words))
        case TurnEnded() as ended:
            turn = restored.unfinished or Turn("", ())
            if ended.is_interrupted:
                turn = Turn("", (), is_interrupted=True)
            turn.nudge = ended.nudge
            restored.conversation.turns.append(turn)
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
    if reasoning.blocks and not _is_json(reasoning.blocks):
        reasoning = Reasoning(text=reasoning.text, is_withheld=True)  # the journal has lost a part of them
    return Reply(
        text=await memory.read_text(replied.text),
        tool_calls=replied.tool_calls,
        reasoning=None if reasoning == Reasoning() else reasoning,
        model=replied.model,
        finish_reason=replied.finish_reason,
        usage=replied.usage,
        seconds=replied.seconds,
    )


def _is_json(text: str) -> bool:
    try:
        decode_json(text)
    except ValueError:
        return False
    return True
