"""Our own request and reply types; no provider's shapes reach beyond `llm`.

Their words can always be encoded: what a model or a tool says comes back to a provider in every later request.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SkipValidation

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.text.encoding import make_encodable
from orchestrator.domain.text.normalization import normalize_text

Role = Literal["planner", "worker", "judge", "verifier", "arbiter"]
EncodableText = Annotated[str, AfterValidator(make_encodable)]
"""A field that holds what UTF-8 can hold, whatever it is given."""


class ToolCall(FrozenModel):
    """A model's wish to use a tool; `arguments` is the JSON text exactly as the model wrote it.

    An escape in it may still stand for half a character: whoever reads the JSON does so with `decode_json`.
    """

    id: EncodableText
    name: EncodableText
    arguments: EncodableText


class Reasoning(FrozenModel):
    """The thinking before an answer: `text` to be read, `blocks` as JSON text to go back to its provider unchanged.

    Blocks are signed, so a changed one is refused. `is_withheld` tells that they held a secret: nothing of them is
    kept but `text` without it, and nothing goes back.
    """

    text: EncodableText = ""
    blocks: EncodableText = ""
    is_withheld: bool = False

    @property
    def size_chars(self) -> int:
        """The characters that go back: the blocks, or the text where there are none."""
        return len(self.blocks) or len(self.text)


class Message(FrozenModel):
    """One message of a conversation; `call_id` names the tool call that a `tool` message answers.

    `model` names the model that an assistant's message was asked of, `reasoning` is its thinking before it.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: EncodableText = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: EncodableText | None = None
    reasoning: Reasoning | None = None
    model: EncodableText = ""

    @cached_property
    def size_chars(self) -> int:
        """The characters of its text, tool calls and thinking; kept, as every later request repeats the message."""
        size = len(self.text) + sum(len(call.name) + len(call.arguments) for call in self.tool_calls)
        if self.reasoning is not None:
            size += self.reasoning.size_chars
        return size

    @cached_property
    def digest(self) -> bytes:
        """Its share of the sum of a request: all of it, without what changes by itself; kept, as `size_chars` is."""
        calls = [(call.id, call.name, call.arguments) for call in self.tool_calls]
        parts: list[object] = [self.role, self.call_id, calls]
        if self.reasoning is not None:
            parts.append([self.reasoning.text, self.reasoning.blocks, self.reasoning.is_withheld])
        identity = json.dumps(parts, ensure_ascii=True).encode()
        return identity + hashlib.sha256(self._normalized_text.encode("utf-8", "surrogatepass")).digest()

    def normalize_words(self) -> "Message":
        """Return it as it is compared: words of people, tools and the harness are normalized, the rest stays."""
        return self.model_copy(update={"text": self._normalized_text})

    @property
    def _normalized_text(self) -> str:
        if self.role in {"user", "tool"}:
            return normalize_text(self.text)
        return self.text


class ToolSpec(FrozenModel):
    """A tool as offered to a model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def json_text(self) -> str:
        """The tool as JSON text; kept, as each request of a session offers the same ones."""
        return json.dumps([self.name, self.description, self.parameters], sort_keys=True)

    @cached_property
    def schema_text(self) -> str:
        """The schema as JSON text, in its own order."""
        return json.dumps(self.parameters)


class Request(FrozenModel):
    """One call of a model: `turn` counts the calls of the session from 0.

    Messages and tools were validated when they were made, and are as many as the session is long.
    `stall_timeout_s` is how long nothing may arrive, 0 for as long as `timeout_s` allows. `reasoning_effort` is how
    much the model is to think, empty for its provider's default; `extra` are more parameters of the call.
    """

    role: Role
    task: TaskId
    session: SessionId
    turn: int
    model: str
    messages: SkipValidation[tuple[Message, ...]]
    tools: SkipValidation[tuple[ToolSpec, ...]] = ()
    api_base: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    timeout_s: float = 600.0
    stall_timeout_s: float = 0.0
    reasoning_effort: str = ""
    extra: Mapping[str, Any] = Field(default_factory=dict)


class Reply(FrozenModel):
    """A model's answer: text, tool calls, thinking, the model that says it answered, and the cost.

    `asked_model` is the model that was asked, as it is configured.
    """

    text: EncodableText = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: Reasoning | None = None
    model: EncodableText = ""
    asked_model: EncodableText = ""
    finish_reason: EncodableText = ""
    usage: Usage = Field(default_factory=Usage)
    seconds: float = 0.0
