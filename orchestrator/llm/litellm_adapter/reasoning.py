"""A model's thinking: out of litellm's replies, whole or in pieces, and back into the messages as providers ask for it.

What a provider signed or encrypted is kept as JSON text and goes back unchanged, and only to the model that thought it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

from orchestrator.domain.chat import Message, Reasoning, Request
from orchestrator.llm.litellm_adapter.credentials import is_third_party_endpoint
from orchestrator.llm.reasoning_rules import needs_reasoning_text

SIGNATURE_MARK = "__thought__"
"""What litellm puts between the id of a Gemini model's tool call and the signature of the thinking before it."""
EMPTY_REASONING = " "
"""The least that a provider takes for `reasoning_content` where it has to stand."""
SIGNED_FIELDS = ("thinking_blocks", "reasoning_items", "reasoning_details", "thought_signatures")

_TEXTS_OF_DETAILS = frozenset({"text", "summary", "data"})


class ThinkingForm(Enum):
    """The way in which earlier thinking goes back to a provider."""

    BLOCKS = "thinking_blocks"
    SIGNATURES = "thought_signatures"
    DETAILS = "reasoning_details"
    TEXT = "reasoning_content"
    ITEMS = "reasoning_items"


_CLAUDE_PROVIDERS = frozenset({"anthropic"})
_CLAUDE_HOSTS = frozenset({"bedrock", "vertex_ai", "vertex_ai_beta", "azure_ai", "databricks"})
_GEMINI_PROVIDERS = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
_TEXT_PROVIDERS = frozenset(
    {"deepseek", "moonshot", "hosted_vllm", "vllm", "ollama", "ollama_chat", "lm_studio", "llamafile", "lemonade"}
    | {"fireworks_ai", "dashscope", "zai", "minimax", "xiaomi_mimo"}
)
"""Those whose interface takes `reasoning_content` in an assistant's message; others may refuse an unknown field."""
_HOSTS_OF_TEXT_MODELS = frozenset({"vertex_ai", "vertex_ai_beta", "together_ai", "deepinfra", "nvidia_nim", "azure_ai"})
"""Those that serve models which refuse a conversation without it, behind an interface like that of their makers."""


def find_thinking_form(model: str, api_base: str | None) -> ThinkingForm:
    """Return how the thinking of earlier replies goes back to a model."""
    provider, slash, name = model.lower().partition("/")
    if provider in _CLAUDE_PROVIDERS or (provider in _CLAUDE_HOSTS and "claude" in name) or model.startswith("claude"):
        return ThinkingForm.BLOCKS
    if provider in _HOSTS_OF_TEXT_MODELS and needs_reasoning_text(name):
        return ThinkingForm.TEXT
    if provider in _GEMINI_PROVIDERS or (not slash and provider.startswith("gemini")):
        return ThinkingForm.SIGNATURES
    if provider == "openrouter":
        return ThinkingForm.DETAILS
    if provider in _TEXT_PROVIDERS or (api_base and is_third_party_endpoint(model, api_base)):
        return ThinkingForm.TEXT
    return ThinkingForm.ITEMS


def read_reasoning(message: Any) -> Reasoning | None:  # noqa: ANN401  theirs
    """Return the thinking that a reply's message holds; None if it holds none."""
    text = getattr(message, "reasoning_content", None)
    text = text if isinstance(text, str) else ""
    signed = {}
    for name in SIGNED_FIELDS:
        if value := find_signed_values(message, name):
            signed[name] = value
    blocks = ""
    if signed:
        with suppress(ValueError, TypeError):  # no JSON could hold it, and so no request
            blocks = json.dumps(signed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not text.strip() and not blocks:
        return None
    return Reasoning(text=text, blocks=blocks)


def find_signed_values(message: Any, name: str) -> list[Any]:  # noqa: ANN401  theirs
    """Return what a message or a piece of one holds in a field of signed thinking; of odd shapes nothing."""
    value = getattr(message, name, None)
    fields = getattr(message, "provider_specific_fields", None)
    if not value and isinstance(fields, Mapping):
        value = fields.get(name)
    if not isinstance(value, list | tuple):
        return []
    wanted = str if name == "thought_signatures" else dict
    return [item for item in map(_to_plain_value, value) if isinstance(item, wanted)]


def _to_plain_value(value: Any) -> Any:  # noqa: ANN401  theirs
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): _to_plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_to_plain_value, value))
    return value


def join_reasoning(deltas: Sequence[Any]) -> dict[str, Any]:
    """Return the thinking of a streamed reply as the fields of a whole message."""
    texts = list[str]()
    pieces: dict[str, list[Any]] = {name: [] for name in SIGNED_FIELDS}
    for delta in deltas:
        text = getattr(delta, "reasoning_content", None)
        texts.append(text if isinstance(text, str) else "")
        for name, found in pieces.items():
            found.extend(find_signed_values(delta, name))
    return {
        **pieces,
        "reasoning_content": "".join(texts),
        "thinking_blocks": _join_blocks(pieces["thinking_blocks"]),
        "reasoning_details": _join_details(pieces["reasoning_details"]),
    }


def _join_blocks(pieces: Iterable[Any]) -> list[dict[str, Any]]:
    """Return whole blocks: text comes in pieces, then the signature; text without one can never go back."""
    blocks, texts = list[dict[str, Any]](), list[str]()
    for piece in pieces:
        if piece.get("type") == "redacted_thinking":
            blocks.append(piece)
            continue
        texts.append(str(piece.get("thinking") or ""))
        if signature := piece.get("signature"):
            blocks.append({"type": "thinking", "thinking": "".join(texts), "signature": signature})
            texts.clear()
    return blocks


def _join_details(pieces: Iterable[Any]) -> list[dict[str, Any]]:
    """Return whole details: pieces of one share kind and index, their texts follow each other."""
    wholes: dict[tuple[str, str], dict[str, Any]] = {}
    texts: dict[tuple[str, str, str], list[str]] = {}
    for piece in pieces:
        kind, index = str(piece.get("type")), str(piece.get("index", len(wholes)))
        whole = wholes.setdefault((kind, index), {})
        for name, value in piece.items():
            if name in _TEXTS_OF_DETAILS and isinstance(value, str):
                texts.setdefault((kind, index, name), []).append(value)
            if value is not None or name not in whole:
                whole[name] = value
    for (kind, index, name), parts in texts.items():
        wholes[kind, index][name] = "".join(parts)
    return list(wholes.values())


class ReasoningWriter:
    """Puts thinking back into the messages of one request, as the provider of its model asks for it."""

    def __init__(self, request: Request) -> None:
        self._form = find_thinking_form(request.model, request.api_base)
        self._model = request.model
        self._is_text_needed = needs_reasoning_text(request.model) and request.reasoning_effort != "none"
        self.has_gap = self._form is ThinkingForm.BLOCKS and self._find_gap(request.messages)
        """Whether thinking that had to go back cannot: the model then has to answer without."""
        self._foreign_calls = set[str]()
        for message in request.messages:
            if self._is_foreign(message):
                self._foreign_calls.update(call.id for call in message.tool_calls)

    def render_fields(self, message: Message) -> dict[str, Any]:
        """Return the fields of an assistant's message that hold its thinking."""
        reasoning = message.reasoning
        if reasoning is None or self._is_foreign(message):
            return self._render_text(message, "")
        signed: dict[str, Any] = json.loads(reasoning.blocks or "{}")
        match self._form:
            case ThinkingForm.BLOCKS if "thinking_blocks" in signed and not self.has_gap:
                return {"thinking_blocks": signed["thinking_blocks"]}
            case ThinkingForm.SIGNATURES if "thought_signatures" in signed:
                return {"provider_specific_fields": {"thought_signatures": signed["thought_signatures"]}}
            case ThinkingForm.DETAILS if "reasoning_details" in signed:
                return {"reasoning_details": signed["reasoning_details"]}
            case ThinkingForm.ITEMS | ThinkingForm.TEXT if "reasoning_items" in signed:
                return {"reasoning_items": signed["reasoning_items"]}
        return self._render_text(message, reasoning.text)

    def render_call_id(self, call_id: str) -> str:
        """Return the id of a tool call, without a signature that another model's provider put into it."""
        if call_id in self._foreign_calls:
            return call_id.partition(SIGNATURE_MARK)[0]
        return call_id

    def _render_text(self, message: Message, text: str) -> dict[str, Any]:
        if self._form not in {ThinkingForm.TEXT, ThinkingForm.DETAILS}:
            return {}
        if text:
            return {"reasoning_content": text}
        if self._is_text_needed and message.tool_calls:
            return {"reasoning_content": EMPTY_REASONING}
        return {}

    def _is_foreign(self, message: Message) -> bool:
        """Return True if another model said it; who said what old journals hold is taken to be the same."""
        return bool(message.model) and message.model != self._model

    def _find_gap(self, messages: Sequence[Message]) -> bool:
        """Return True if a reply of the open tool loop is another model's, or had its thinking withheld."""
        for message in reversed(messages):
            if message.role != "assistant":
                continue
            if not message.tool_calls:
                return False
            if self._is_foreign(message) or (message.reasoning is not None and message.reasoning.is_withheld):
                return True
        return False
