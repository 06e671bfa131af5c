"""The rules for every request, whatever the provider: checked on each request to a scripted model.

A broken rule is a bug of the caller, never of the model, and is raised as such.
"""

from collections.abc import Iterator, Sequence

from orchestrator.domain.chat import Message, Request


class InvariantBroken(AssertionError):
    """A request that some provider would refuse, or that throws the prompt cache away; a bug, so nobody catches it."""


def check_request(request: Request) -> None:
    """Check that roles are in order, nothing is empty, and every tool call is answered once, right after it.

    Raises:
        InvariantBroken: the first broken rule, with the message's place.
    """
    for problem in _problems(request.messages):
        raise InvariantBroken(f"request {request.session!r} turn {request.turn} ({request.role}): {problem}")


def _problems(messages: Sequence[Message]) -> Iterator[str]:
    if not messages or messages[0].role != "system":
        yield "the first message is not the system's"
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        for problem in _own_problems(message):
            yield f"message {place} ({message.role}) {problem}"
        if message.role == "tool":
            if message.call_id not in open_calls:
                yield f"message {place} answers call {message.call_id!r}, which the preceding assistant did not make"
            open_calls.discard(message.call_id or "")
        elif open_calls:
            yield f"message {place} ({message.role}) comes before call {min(open_calls)!r} is answered"
        open_calls |= {call.id for call in message.tool_calls}
    if open_calls:
        yield f"call {min(open_calls)!r} is not answered"
    if messages and messages[-1].role in {"assistant", "system"}:
        yield f"the last message is the {messages[-1].role}'s: there is nothing to answer"


def _own_problems(message: Message) -> Iterator[str]:
    if not message.text.strip() and not message.tool_calls:
        yield "is empty"
    if message.tool_calls and message.role != "assistant":
        yield "makes tool calls"
    if (message.call_id is not None) != (message.role == "tool"):
        yield "has a call id" if message.call_id else "has no call id"
    if len({call.id for call in message.tool_calls}) < len(message.tool_calls):
        yield "uses one call id twice"


def is_continuation(before: Sequence[Message], now: Sequence[Message]) -> bool:
    """Return True if `now` extends `before` unchanged, or starts over without a word of the assistant."""
    return list(now[: len(before)]) == list(before) or all(message.role != "assistant" for message in now)


def is_elision(before: Sequence[Message], now: Sequence[Message]) -> bool:
    """Return True if `now` extends `before` but for tool results that became shorter."""
    return len(now) >= len(before) and all(
        one == other or (one.role == "tool" and len(other.text) < len(one.text) and _same_but_text(one, other))
        for one, other in zip(before, now, strict=False)
    )


def _same_but_text(one: Message, other: Message) -> bool:
    return other == one.model_copy(update={"text": other.text})
