"""From turns to the messages a model sees. What was said first never changes, so that the prefix stays cached."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.domain.chat import Message, ToolCall

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
    `finish_reason` why the provider ended the reply.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    observations: dict[str, str] = field(default_factory=dict)
    nudge: str = ""
    failed: bool = False
    finish_reason: str = ""

    @property
    def chars(self) -> int:
        """Its size in a request."""
        calls = sum(len(call.arguments) + len(call.name) for call in self.tool_calls)
        return len(self.text) + calls + sum(map(len, self.observations.values())) + len(self.nudge)


@dataclass
class SessionHistory:
    """The turns so far. `opening` is a conversation that this one continues, or nothing."""

    system: str
    brief: str
    turns: list[Turn] = field(default_factory=list)
    opening: "SessionHistory | None" = None

    def list_all_turns(self) -> list[Turn]:
        """Return the turns of this conversation and of those it continues."""
        return [*(self.opening.list_all_turns() if self.opening else ()), *self.turns]

    def build_messages(self, context_tokens: int) -> tuple[Message, ...]:
        """Return the messages of the next request, with old observations elided if the context is getting full."""
        elided = _elided(self.list_all_turns(), context_tokens)
        return (Message(role="system", text=self.system), *self._told(elided))

    def _told(self, elided: int) -> list[Message]:
        before = self.opening.list_all_turns() if self.opening else []
        told = self.opening._told(elided) if self.opening else []
        told.append(Message(role="user", text=self.brief))
        for index, turn in enumerate(self.turns, start=len(before)):
            told += _turn_messages(turn, index, is_elided=index < elided)
        return told

    def count_characters(self, context_tokens: int) -> int:
        """Size of the next request in characters."""
        return sum(
            len(message.text) + sum(len(call.arguments) for call in message.tool_calls)
            for message in self.build_messages(context_tokens)
        )


def _turn_messages(turn: Turn, index: int, *, is_elided: bool) -> list[Message]:
    if turn.text.strip() or turn.tool_calls:
        text = turn.text
    else:
        text = "(no answer)"
    messages = [Message(role="assistant", text=text, tool_calls=turn.tool_calls)]
    for call in turn.tool_calls:
        text = turn.observations.get(call.id, NOT_EXECUTED)
        if is_elided and len(text) > 200:
            text = f"[output of step {index + 1}, {len(text)} characters, left out; run it again if you need it]"
        messages.append(Message(role="tool", text=text, call_id=call.id))
    if turn.nudge:
        messages.append(Message(role="user", text=turn.nudge))
    return messages


def _elided(turns: Sequence[Turn], context_tokens: int) -> int:
    """Return how many of the first turns lose their observations; it grows in steps, never when nothing was said."""
    high, low = (int(context_tokens * CHARS_PER_TOKEN * share) for share in (ELIDE_ABOVE_SHARE, ELIDE_DOWN_TO_SHARE))
    boundary, size = 0, 0
    for index, turn in enumerate(turns):
        size += turn.chars
        if size > high:
            while boundary < index + 1 - WHOLE_LATEST_TURNS and size > low:
                size -= turns[boundary].chars
                boundary += 1
    return boundary
