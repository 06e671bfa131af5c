"""From turns to the messages a model sees, and from the journal back to turns, so that a session goes on.

What was said first never changes, so that the prefix stays cached.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.agent.context_size import ContextMeter
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reasoning, Reply, ToolCall
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import (
    ModelCalled,
    ModelReplied,
    SessionEnded,
    SessionStarted,
    ToolReturned,
    TurnEnded,
)
from orchestrator.domain.ids import SessionId, TreeId
from orchestrator.domain.run.task import Exit
from orchestrator.errors import JournalProblem
from orchestrator.llm.reasoning_rules import ReasoningRule
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
    _built: dict[tuple[int, bool, bool, str], tuple[Message, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

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

    def build_messages(self, index: int, *, is_elided: bool, thinks: bool = True) -> tuple[Message, ...]:
        """Return the messages of the turn at a place of its conversation; kept, as each request has them again.

        Call it only once all its tools have returned. `thinks` tells whether they hold the model's thinking.
        """
        key = (index, is_elided, thinks, self.nudge)
        if key not in self._built:
            self._built = {key: tuple(_build_turn_messages(self, index, is_elided=is_elided, thinks=thinks))}
        return self._built[key]

    @property
    def reasoning_chars(self) -> int:
        """The size of its thinking in a request."""
        return self.reasoning.size_chars if self.reasoning else 0

    @property
    def chars(self) -> int:
        """Its size in a request."""
        calls = sum(len(call.arguments) + len(call.name) for call in self.tool_calls)
        said = len(self.text) + self.reasoning_chars + calls
        return said + sum(map(len, self.observations.values())) + len(self.nudge)


@dataclass
class SessionHistory:
    """The turns so far. `opening` is a conversation that this one continues, or nothing."""

    system: str
    brief: str
    turns: list[Turn] = field(default_factory=list)
    opening: "SessionHistory | None" = None
    _elisions: dict[tuple[int, ReasoningRule], "_Elision"] = field(default_factory=dict, repr=False, compare=False)

    def list_all_turns(self) -> list[Turn]:
        """Return the turns of this conversation and of those it continues."""
        if self.opening is None:
            return list(self.turns)
        return [*self.opening.list_all_turns(), *self.turns]

    def build_messages(self, context_tokens: int, rule: ReasoningRule = ReasoningRule.ALL) -> tuple[Message, ...]:
        """Return the messages of the next request, with old observations elided if the context is getting full.

        Those of earlier requests are the same objects, which keep what was derived from them. Turns may be added
        between two calls, and never changed. `rule` says which thinking stays in turns that are elided.
        """
        elision = self._get_elision(context_tokens, rule)
        elided = elision.count_elided(self.list_all_turns())
        return (self._system_message, *self._build_conversation(elided, elision.thoughtless))

    def count_tokens(
        self, messages: Sequence[Message], context_tokens: int, rule: ReasoningRule = ReasoningRule.ALL
    ) -> float:
        """Return how many tokens the messages of the next request take, by what was counted for earlier ones."""
        meter = self._get_elision(context_tokens, rule).meter
        return meter.count_tokens(sum(message.size_chars for message in messages))

    def _get_elision(self, context_tokens: int, rule: ReasoningRule) -> "_Elision":
        if (context_tokens, rule) not in self._elisions:
            self._elisions[context_tokens, rule] = _Elision(context_tokens, rule, self._opening_chars)
        return self._elisions[context_tokens, rule]

    @property
    def _opening_chars(self) -> int:
        """The characters of what is said beside the turns."""
        before = self.opening._opening_chars - len(self.opening.system) if self.opening else 0
        return before + len(self.system) + len(self.brief)

    @cached_property
    def _system_message(self) -> Message:
        return Message(role="system", text=self.system)

    @cached_property
    def _brief_message(self) -> Message:
        return Message(role="user", text=self.brief)

    def _build_conversation(self, elided: int, thoughtless: int) -> list[Message]:
        first, messages = 0, list[Message]()
        if self.opening is not None:
            first = len(self.opening.list_all_turns())
            messages = self.opening._build_conversation(elided, thoughtless)
        messages.append(self._brief_message)
        for index, turn in enumerate(self.turns, start=first):
            messages += turn.build_messages(index, is_elided=index < elided, thinks=index >= thoughtless)
        return messages


def _build_turn_messages(turn: Turn, index: int, *, is_elided: bool, thinks: bool) -> list[Message]:
    text = turn.text
    if not text.strip() and not turn.tool_calls:
        text = "(no answer)"
    reasoning = turn.reasoning if thinks else None
    messages = [Message(role="assistant", text=text, tool_calls=turn.tool_calls, reasoning=reasoning, model=turn.model)]
    for call in turn.tool_calls:
        text = turn.observations.get(call.id, NOT_EXECUTED)
        if is_elided and len(text) > 200:
            text = f"[output of step {index + 1}, {len(text)} characters, left out; run it again if you need it]"
        messages.append(Message(role="tool", text=text, call_id=call.id))
    if turn.nudge:
        messages.append(Message(role="user", text=turn.nudge))
    return messages


class _Elision:
    """The first turns that lose their observations; they grow in steps, never when nothing was said.

    `thoughtless` counts those of them that lose their thinking too, as far as the rule allows that.
    """

    def __init__(self, context_tokens: int, rule: ReasoningRule, opening_chars: int) -> None:
        self.meter = ContextMeter()
        self.thoughtless = 0
        self._rule = rule
        self._high, self._low = context_tokens * ELIDE_ABOVE_SHARE, context_tokens * ELIDE_DOWN_TO_SHARE
        self._seen = self._boundary = self._size = 0
        self._sent_chars = opening_chars

    def count_elided(self, turns: Sequence[Turn]) -> int:
        """Return how many of the first turns lose their observations, after those that were added since."""
        for index in range(self._seen, len(turns)):
            self.meter.record_request(self._sent_chars, turns[index].usage)
            self._size += turns[index].chars
            self._sent_chars += _count_chars(turns[index].build_messages(index, is_elided=False))
            if self.meter.count_tokens(self._size) > self._high:
                self._elide(turns, index + 1 - WHOLE_LATEST_TURNS, self._find_open_loop(turns[: index + 1]))
        self._seen = len(turns)
        return self._boundary

    def _elide(self, turns: Sequence[Turn], before: int, open_loop: int) -> None:
        while self._boundary < before and self.meter.count_tokens(self._size) > self._low:
            index, turn = self._boundary, turns[self._boundary]
            thinks = index >= open_loop
            whole = _count_chars(turn.build_messages(index, is_elided=False))
            self._sent_chars -= whole - _count_chars(turn.build_messages(index, is_elided=True, thinks=thinks))
            self._size -= turn.chars - turn.reasoning_chars * thinks
            self._boundary += 1
        self.thoughtless = max(self.thoughtless, min(self._boundary, open_loop))

    def _find_open_loop(self, turns: Sequence[Turn]) -> int:
        """Return the first turn whose thinking has to stay, whatever else of it is elided."""
        if self._rule is ReasoningRule.ALL:
            return 0
        if self._rule is ReasoningRule.OPTIONAL:
            return len(turns)
        for index in range(len(turns) - 1, -1, -1):
            if not turns[index].tool_calls:
                return index + 1
        return 0


def _count_chars(messages: Sequence[Message]) -> int:
    return sum(message.size_chars for message in messages)


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
