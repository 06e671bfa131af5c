"""Our messages in the shapes of OpenAI's chat interface, which litellm takes for every provider."""

import json
from collections.abc import Sequence
from typing import Any

from orchestrator.domain.chat import Message, ToolSpec

MAX_MALFORMED_CHARS = 4_000
EMPTY_TEXT = "(empty)"
"""Stands for a message without words: a model may reply with none, and providers refuse to get it back."""


def render_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the conversation; equal messages give equal bytes, so that prompt caches hold."""
    return list(map(_message, messages))


def render_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools on offer."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def render_arguments(text: str) -> str:
    """Render arguments as they may be sent back: unchanged if a JSON object, else as `{"malformed": …}`.

    Several providers refuse a whole conversation in which an earlier call's arguments do not parse, and no library
    writes half a character or an infinite number.
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # as libraries do that write it anew
        is_object = isinstance(value, dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        return text
    if text.strip():
        return json.dumps({"malformed": text[:MAX_MALFORMED_CHARS]})
    return "{}"


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text or EMPTY_TEXT}
    if not message.tool_calls:
        return {"role": message.role, "content": message.text or EMPTY_TEXT}
    calls = []
    for call in message.tool_calls:
        calls.append(
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": render_arguments(call.arguments)},
            }
        )
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}
