"""Our messages → the shapes of OpenAI's interface; litellm's response, whole or in pieces, → our Reply.

Whatever a provider left out is made up for. A reply that comes in pieces is given up when nothing arrives for too long.
litellm's stream is known by its attributes only. Its own way of putting the pieces together is not used: it makes up a
finish reason for a stream that broke off, counts tokens that nobody told it, and prices them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import anyio

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reply, Request, ToolCall, ToolSpec
from orchestrator.llm.errors import CallTimedOut, ReplyTooLarge, Unavailable
from orchestrator.llm.litellm_adapter.reasoning import (
    SIGNED_FIELDS,
    ReasoningWriter,
    find_signed_values,
    join_reasoning,
    read_reasoning,
)
from orchestrator.llm.litellm_adapter.reply_meter import ReplyMeter

CHARS_PER_TOKEN = 4
MAX_TOOL_CALLS = 1_000
MAX_TOKENS = 1_000_000_000
"""More than any call has; a count beyond is senseless, and arithmetic with it may be too."""
MAX_MALFORMED_CHARS = 4_000
_RENDERED_CALLS = 4_096
"""The calls whose arguments are remembered, of all conversations together."""
_RENDERED_SCHEMAS = 1_000
"""The schemas of tools that are remembered, one for each model."""
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
        reasoning=read_reasoning(message),
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
    sent = sum(message.size_chars for message in request.messages)
    thought = reply.reasoning.size_chars if reply.reasoning else 0
    received = len(reply.text) + thought + _length(reply.tool_calls)
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


def render_messages(messages: Sequence[Message], writer: ReasoningWriter) -> list[dict[str, Any]]:
    """Return the conversation; equal messages give equal bytes, so that prompt caches hold."""
    return [_message(message, writer) for message in messages]


def render_tools(tools: Sequence[ToolSpec], model: str) -> list[dict[str, Any]]:
    """Return the tools on offer to a model."""
    rendered = []
    for tool in tools:
        schema = _copy_schema(model, tool.schema_text)
        function = {"name": tool.name, "description": tool.description, "parameters": schema}
        rendered.append({"type": "function", "function": function})
    return rendered


@lru_cache(maxsize=_RENDERED_SCHEMAS)
def _copy_schema(_model: str, text: str) -> dict[str, Any]:
    """Return the copy of a schema that is sent to a model: adapters of some change it, which no other is to see."""
    schema: dict[str, Any] = json.loads(text)
    return schema


@lru_cache(maxsize=_RENDERED_CALLS)
def render_arguments(text: str) -> str:
    """Render arguments as they may be sent back: unchanged if a JSON object, else as `{"malformed": …}`.

    Several providers refuse a whole conversation in which an earlier call's arguments do not parse, and no library
    writes half a character or an infinite number. Every request holds all earlier calls, so they are remembered.
    """
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # as libraries do that write it anew
        if isinstance(value, dict):
            return text
    if text.strip():
        return json.dumps({"malformed": text[:MAX_MALFORMED_CHARS]})
    return "{}"


def _message(message: Message, writer: ReasoningWriter) -> dict[str, Any]:
    if message.role == "tool":
        call_id = writer.render_call_id(message.call_id or "")
        return {"role": "tool", "tool_call_id": call_id, "content": message.text or EMPTY_TEXT}
    thinking = writer.render_fields(message) if message.role == "assistant" else {}
    if not message.tool_calls:
        return {"role": message.role, "content": message.text or EMPTY_TEXT, **thinking}
    calls = []
    for call in message.tool_calls:
        function = {"name": call.name, "arguments": render_arguments(call.arguments)}
        calls.append({"id": writer.render_call_id(call.id), "type": "function", "function": function})
    return {"role": message.role, "content": message.text or None, **thinking, "tool_calls": calls}


MAX_CHUNKS = 150_000
"""More than the tokens of any reply; litellm keeps every piece until the end."""


@contextmanager
def limit_stall(request: Request) -> Iterator[None]:
    """Give up what is inside when it takes longer than the request's `stall_timeout_s`, if that is set.

    Raises:
        CallTimedOut: it did.
    """
    if not request.stall_timeout_s:
        yield
        return
    with anyio.move_on_after(request.stall_timeout_s):
        yield
        return
    raise CallTimedOut(f"{request.model}: nothing arrived for {request.stall_timeout_s:g} s")


async def read_stream(stream: Any, request: Request, meter: ReplyMeter) -> Any:  # noqa: ANN401  theirs
    """Read a stream to its end; the reply has the shape of one that came at once.

    Raises:
        CallTimedOut: the next piece did not come in time.
        ReplyTooLarge: there are more pieces than a reply may have.
        Unavailable: the stream ended before the reply did.
    """
    pieces = size = 0
    while True:
        with limit_stall(request):
            chunk = await anext(stream, None)
        if chunk is None:
            break
        pieces += 1
        size += _size_of(chunk)
        meter.check_size(size)
        if pieces > MAX_CHUNKS:
            raise meter.give_up(meter.build_size_error(f"more than {MAX_CHUNKS:,} pieces"))
        await anyio.lowlevel.checkpoint()  # pieces that are here already come without a pause
    finish_reason = stream.received_finish_reason or stream.intermittent_finish_reason
    if not finish_reason:
        raise Unavailable(f"{request.model}: the reply broke off before its end")
    chunks = list(stream.chunks)
    calls = _join_calls(chunks)
    thinking = join_reasoning(list(_iterate_deltas(chunks)))
    message = SimpleNamespace(content="".join(_iterate_values(chunks, "content")), tool_calls=calls, **thinking)
    return SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason=_ends_with(finish_reason, calls))],
        model=next((chunk.model for chunk in chunks if chunk.model), None),
        usage=next((usage for chunk in reversed(chunks) if (usage := getattr(chunk, "usage", None))), None),
        _hidden_params={"custom_llm_provider": stream.custom_llm_provider},
    )


def _size_of(chunk: Any) -> int:  # noqa: ANN401  theirs
    """Return how many characters a piece brings, of whatever kind."""
    size = sum(len(text) for name in ("content", "reasoning_content") for text in _iterate_values([chunk], name))
    for delta in _iterate_deltas([chunk]):
        for name in SIGNED_FIELDS:
            size += len(str(find_signed_values(delta, name)))
    for calls in _iterate_values([chunk], "tool_calls"):
        size += sum(len(call.function.name or "") + len(call.function.arguments or "") for call in calls)
    return size


def _iterate_deltas(chunks: Sequence[Any]) -> Iterator[Any]:
    return (chunk.choices[0].delta for chunk in chunks if chunk.choices)


def _iterate_values(chunks: Sequence[Any], name: str) -> Iterator[Any]:
    return (value for delta in _iterate_deltas(chunks) if (value := getattr(delta, name, None)))


def _join_calls(chunks: Sequence[Any]) -> list[SimpleNamespace]:
    """Return the tool calls: pieces of one share an index, and only the first must have an id and a name."""
    calls: dict[int, SimpleNamespace] = {}
    for pieces in _iterate_values(chunks, "tool_calls"):
        for piece in pieces:
            function = SimpleNamespace(name="", arguments="")
            call = calls.setdefault(piece.index, SimpleNamespace(id=None, function=function))
            call.id = call.id or piece.id
            call.function.name += piece.function.name or ""
            call.function.arguments += piece.function.arguments or ""
    return [call for _, call in sorted(calls.items())]


def _ends_with(finish_reason: str, calls: Sequence[SimpleNamespace]) -> str:
    if calls and finish_reason == "stop":
        return "tool_calls"
    return finish_reason
