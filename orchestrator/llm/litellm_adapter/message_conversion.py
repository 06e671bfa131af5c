"""Our messages → the shapes of OpenAI's interface; litellm's response → our Reply, whatever a provider left out."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reply, Request, ToolCall, ToolSpec
from orchestrator.llm.errors import ReplyTooLarge, Unavailable

CHARS_PER_TOKEN = 4
MAX_TOOL_CALLS = 1_000
MAX_TOKENS = 1_000_000_000
"""More than any call has; a count beyond is senseless, and arithmetic with it may be too."""
MAX_MALFORMED_CHARS = 4_000
EMPTY_TEXT = "(empty)"
"""Stands for a message without words: a model may reply with none, and providers refuse to get it back."""


def build_reply(response: Any, request: Request, cost_usd: Decimal | None, seconds: float) -> Reply:  # noqa: ANN401  theirs
    """Return the reply; `cost_usd` None books the call as unpriced.

    Raises:
        ReplyTooLarge: it has more tool calls than anybody would make.
        Unavailable: the response has no choice to read.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise Unavailable(f"{request.model}: the reply holds no choice")
    message = choices[0].message
    if len(message.tool_calls or ()) > MAX_TOOL_CALLS:
        raise ReplyTooLarge(f"{request.model}: the provider's reply has more than {MAX_TOOL_CALLS:,} tool calls")
    reply = Reply(
        text=_replace_surrogates(message.content or ""),
        tool_calls=_convert_calls(message.tool_calls or (), f"call_{request.turn}"),
        model=response.model or request.model,
        finish_reason=choices[0].finish_reason or "",
        seconds=seconds,
    )
    spent = find_counted_usage(response) or estimate_reply_usage(request, reply)
    known = {"cost_usd": cost_usd or Decimal(0), "unpriced_calls": int(cost_usd is None)}
    return reply.model_copy(update={"usage": spent.model_copy(update=known)})


def find_counted_usage(response: Any) -> Usage | None:  # noqa: ANN401  theirs
    """Return the tokens that the provider counted; None when it counted none, or numbers that cannot be."""
    usage = getattr(response, "usage", None)
    counts = [
        getattr(usage, "prompt_tokens", None) or 0,
        getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0,
        getattr(usage, "completion_tokens", None) or 0,
    ]
    if not all(isinstance(count, int) and 0 <= count <= MAX_TOKENS for count in counts):
        return None
    read, cached, wrote = counts
    counted = Usage(calls=1, input_tokens=read, cached_tokens=min(cached, read), output_tokens=wrote)
    if counted.tokens:
        return counted
    return None


def estimate_reply_usage(request: Request, reply: Reply) -> Usage:
    """Estimate tokens by characters, for servers that do not count: a budget must not see such calls as free."""
    sent = sum(len(message.text) + _length(message.tool_calls) for message in request.messages)
    received = len(reply.text) + _length(reply.tool_calls)
    return Usage(calls=1, input_tokens=-(-sent // CHARS_PER_TOKEN), output_tokens=-(-received // CHARS_PER_TOKEN))


def _length(calls: tuple[ToolCall, ...]) -> int:
    return sum(len(call.name) + len(call.arguments) for call in calls)


def _convert_calls(calls: Sequence[Any], fallback_id: str) -> tuple[ToolCall, ...]:
    """Return the calls, each with an id of its own: some servers give none, or the same to all."""
    seen = Counter(call.id for call in calls)
    return tuple(
        _call(call, call.id if call.id and seen[call.id] == 1 else f"{fallback_id}_{n}") for n, call in enumerate(calls)
    )


def _call(call: Any, call_id: str) -> ToolCall:  # noqa: ANN401  theirs
    arguments = call.function.arguments
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments)
    name = _replace_surrogates(call.function.name or "")
    return ToolCall(id=call_id, name=name, arguments=_replace_surrogates(arguments))


def _replace_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which no file or provider takes, as replacement characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # as libraries do that write it anew
        if isinstance(value, dict):
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
        function = {"name": call.name, "arguments": render_arguments(call.arguments)}
        calls.append({"id": call.id, "type": "function", "function": function})
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}
