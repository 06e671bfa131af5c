"""A model that plays a script: for dry runs (`model = "scripted:FILE"`), demos and tests. No network, no cost.

Every request is checked against the rules that hold for all providers; a broken one is a bug of the caller.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import anyio

from orchestrator.domain.budget.price import FREE_PRICE, Price
from orchestrator.domain.chat import Message, Reply, Request, Role, ToolCall
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.llm.errors import CallTimedOut, ScriptExhausted
from orchestrator.llm.scripted_model.script import ANY_TASK, ScriptedReply, read_script

ScriptKey = tuple[Role, TaskId]


class ScriptCursor:
    """One queue of replies per (role, task), in file order, and how many of each were used.

    Parallel tasks never draw from one another's replies.
    """

    def __init__(
        self, items: Iterable[ScriptedReply], consumed: Mapping[ScriptKey, int] | None = None, name: str = "the script"
    ) -> None:
        """Set up; `consumed` counts what an earlier process used, `name` stands in messages."""
        self._name = name
        self._queues: dict[ScriptKey, list[ScriptedReply]] = {}
        for item in items:
            self._queues.setdefault((item.role, TaskId(item.task)), []).append(item)
        self._used: dict[ScriptKey, int] = {key: count for key, count in (consumed or {}).items() if count}

    def get_queue(self, role: Role, task: TaskId) -> list[ScriptedReply]:
        """Return all replies for a task, used or not: its own, or else those for any task of the role."""
        return self._queues.get((role, task)) or self._queues.get((role, TaskId(ANY_TASK)), [])

    def take_reply(self, role: Role, task: TaskId) -> tuple[int, ScriptedReply]:
        """Return the next reply and its place in the queue, counted from 0.

        Raises:
            ScriptExhausted: none is left.
        """
        queue, used = self.get_queue(role, task), self._used.get((role, task), 0)
        if used >= len(queue):
            raise ScriptExhausted(
                f"{self._name} has no more replies for role {role!r}, task {task!r}: all {len(queue)} were used. "
                f'Add a [[reply]] with role = "{role}" and task = "{task}", or find out why it is asked so often.'
            )
        self._used[role, task] = used + 1
        return used, queue[used]

    @property
    def used_counts(self) -> dict[ScriptKey, int]:
        """The number of replies that each (role, task) has used, those of earlier processes included."""
        return dict(self._used)

    def count_remaining(self) -> dict[ScriptKey, int]:
        """Return how many replies are left for each (role, task); empty when every one was used.

        A sequence for any task counts for each task that began it, and under the task `*` if none did.
        """
        left = {key: len(self.get_queue(*key)) - used for key, used in self._used.items()}
        for key, queue in self._queues.items():
            if key[1] != ANY_TASK:
                left.setdefault(key, len(queue))
            elif not any(role == key[0] and (role, task) not in self._queues for role, task in self._used):
                left[key] = len(queue)
        return {key: count for key, count in left.items() if count > 0}


class ScriptedModel(ScriptCursor):
    """A ModelClient over a script; it records every request and refuses malformed ones."""

    def __init__(
        self,
        items: Iterable[ScriptedReply],
        consumed: Mapping[ScriptKey, int] | None = None,
        name: str = "the script",
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        """Set up; `consumed` counts the replies that an earlier process used, which are skipped."""
        items = tuple(items)
        super().__init__(items, consumed, name)
        self._is_free = all(item.cost_usd == 0 for item in items)
        self._sleep = sleep
        self._requests: list[Request] = []
        self._latest: dict[SessionId, tuple[Message, ...]] = {}
        self.elision_count = 0
        """The number of requests that shortened old tool results, and so lost the prompt cache."""

    @classmethod
    def from_items(cls, *items: ScriptedReply, consumed: Mapping[ScriptKey, int] | None = None) -> Self:
        """Return a model that plays `items`; for tests."""
        return cls(items, consumed)

    @classmethod
    def from_file(cls, path: Path, consumed: Mapping[ScriptKey, int] | None = None) -> Self:
        """Return a model that plays a script file.

        Raises:
            UsageProblem: the file cannot be read or played.
        """
        return cls(read_script(path), consumed, str(path))

    async def request_completion(self, request: Request) -> Reply:
        """Return the next reply of the request's role and task.

        Raises:
            ModelError: the script has an error here, or (ScriptExhausted) nothing more.
            InvariantBroken: the caller made a request that no provider should see.
        """
        self._check(request)
        self._requests.append(request)
        place, item = self.take_reply(request.role, request.task)
        await self._wait(item, request)
        if failure := item.build_error(self._name):
            raise failure
        return _build_reply(item, place, request)

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return none: a script that could be read can be played."""
        return None

    async def find_price(self, model: str) -> Price | None:
        """Return None, unless a reply of the script claims a cost: those are known only when they come."""
        if self._is_free:
            return FREE_PRICE
        return None

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in order."""
        return tuple(self._requests)

    def _check(self, request: Request) -> None:
        before = self._latest.get(request.session, ())
        is_extension = request.messages[: len(before)] == before
        check_request(request, len(before) if is_extension else 0)
        if not is_extension and not is_continuation(before, request.messages):
            if not is_elision(before, request.messages):
                raise InvariantBroken(
                    f"request {request.session!r} turn {request.turn} ({request.role}) rewrites its conversation: "
                    f"{_first_difference(before, request.messages)}"
                )
            self.elision_count += 1
        self._latest[request.session] = request.messages

    async def _wait(self, item: ScriptedReply, request: Request) -> None:
        if item.delay_s:
            await self._sleep(min(item.delay_s, request.timeout_s))
        if item.delay_s > request.timeout_s:
            raise CallTimedOut(f"{self._name}: no reply within {request.timeout_s:g} s")


def _build_reply(item: ScriptedReply, place: int, request: Request) -> Reply:
    calls = (ToolCall(id=f"call_{place}_{n}", name=call.tool, arguments=call.text) for n, call in enumerate(item.call))
    return Reply(
        text=item.text,
        tool_calls=tuple(calls),
        model=item.model or request.model,
        finish_reason=item.effective_finish_reason,
        usage=item.booked_usage,
        seconds=item.delay_s,
    )


def _first_difference(before: tuple[Message, ...], now: tuple[Message, ...]) -> str:
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return f"message {place} was {one.role} {one.text[:80]!r} and is {other.role} {other.text[:80]!r}"
    return f"it had {len(before)} messages and has {len(now)}"


class InvariantBroken(AssertionError):
    """A request that some provider would refuse, or that throws the prompt cache away; a bug, so nobody catches it."""


def check_request(request: Request, checked: int = 0) -> None:
    """Check that roles are in order, nothing is empty, and every tool call is answered once, right after it.

    Args:
        request: the request.
        checked: how many of its first messages were a whole request that has been checked.

    Raises:
        InvariantBroken: the first broken rule, with the message's place.
    """
    for problem in _problems(request.messages, checked):
        raise InvariantBroken(f"request {request.session!r} turn {request.turn} ({request.role}): {problem}")


def _problems(messages: Sequence[Message], checked: int) -> Iterator[str]:
    if not messages or messages[0].role != "system":
        yield "the first message is not the system's"
    open_calls: set[str] = set()
    for place, message in enumerate(messages[checked:], start=checked):
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
    """Return True if `now` extends `before` unchanged, or begins anew with the same task and no assistant's word."""
    if list(now[: len(before)]) == list(before):
        return True
    return list(now[:2]) == list(before[:2]) and all(message.role != "assistant" for message in now)


def is_elision(before: Sequence[Message], now: Sequence[Message]) -> bool:
    """Return True if `now` extends `before` but for tool results and arguments of calls that became shorter."""
    return len(now) >= len(before) and all(
        one == other or (other.size_chars < one.size_chars and _same_but_length(one, other))
        for one, other in zip(before, now, strict=False)
    )


def _same_but_length(one: Message, other: Message) -> bool:
    if one.role == "tool":
        return other == one.model_copy(update={"text": other.text})
    if (one.role, one.text, len(one.tool_calls)) != (other.role, other.text, len(other.tool_calls)):
        return False
    for call, shorter in zip(one.tool_calls, other.tool_calls, strict=True):
        if (call.id, call.name) != (shorter.id, shorter.name):
            return False
    return True
