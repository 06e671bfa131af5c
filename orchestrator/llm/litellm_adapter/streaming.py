"""A reply that comes in pieces → the whole of it, given up when nothing arrives for too long.

Knows litellm's stream by its attributes only. Its own way of putting the pieces together is not used: it makes up a
finish reason for a stream that broke off, counts tokens that nobody told it, and prices them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import anyio

from orchestrator.domain.chat import Request
from orchestrator.llm.errors import CallTimedOut, Unavailable
from orchestrator.llm.litellm_adapter.reply_meter import ReplyMeter

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
    message = SimpleNamespace(content="".join(_iterate_values(chunks, "content")), tool_calls=calls)
    return SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason=_ends_with(finish_reason, calls))],
        model=next((chunk.model for chunk in chunks if chunk.model), None),
        usage=next((usage for chunk in reversed(chunks) if (usage := getattr(chunk, "usage", None))), None),
        _hidden_params={"custom_llm_provider": stream.custom_llm_provider},
    )


def _size_of(chunk: Any) -> int:  # noqa: ANN401  theirs
    """Return how many characters a piece brings, of whatever kind."""
    size = sum(len(text) for name in ("content", "reasoning_content") for text in _iterate_values([chunk], name))
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
