"""One turn of a conversation, and the messages that it is in a request."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.agent.elided_texts import elide_call, elide_output
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reasoning, Reply, ToolCall
from orchestrator.llm.reasoning_rules import ReasoningRule

NOT_EXECUTED = "not executed: an earlier call of this reply failed or ended the session"
"""The observation of a call that has none."""
_INTERRUPTED = "(interrupted by a person)"


@dataclass
class Turn:
    """One reply of the model and what its tools returned, by call id, as far as they were executed.

    `nudge` is what the harness said after it, `failed` tells that one of the tools refused or failed,
    `finish_reason` why the provider ended the reply. `reasoning` is the model's thinking before it, `model` the model
    that was asked, `usage` the tokens that the provider counted. `is_interrupted` tells that a person's words came
    before the reply, so that there is none.
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
    is_interrupted: bool = False
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
            self._built[key] = tuple(_build_turn_messages(self, index, is_elided=is_elided, thinks=thinks))
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


def count_chars(messages: Sequence[Message], rule: ReasoningRule = ReasoningRule.ALL) -> int:
    """Return the characters of messages.

    Thinking that a provider need not get back is left out: many take none, and what others take shows in their counts.
    """
    total = sum(message.size_chars for message in messages)
    if rule is ReasoningRule.OPTIONAL:
        for message in messages:
            total -= message.reasoning.size_chars if message.reasoning else 0
    return total


def _build_turn_messages(turn: Turn, index: int, *, is_elided: bool, thinks: bool) -> list[Message]:
    text, calls = turn.text, turn.tool_calls
    if not text.strip() and not calls:
        text = _INTERRUPTED if turn.is_interrupted else "(no answer)"
    if is_elided:
        calls = tuple(elide_call(call, index + 1) for call in calls)
    reasoning = turn.reasoning if thinks else None
    messages = [Message(role="assistant", text=text, tool_calls=calls, reasoning=reasoning, model=turn.model)]
    for call in calls:
        text = turn.observations.get(call.id, NOT_EXECUTED)
        if is_elided:
            text = elide_output(text, index + 1)
        messages.append(Message(role="tool", text=text, call_id=call.id))
    if turn.nudge:
        messages.append(Message(role="user", text=turn.nudge))
    return messages
