"""A model that plays a script: for dry runs (`model = "scripted:FILE"`), demos and tests. No network, no cost."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

import anyio

from orchestrator.domain.budget.price import FREE_PRICE, Price
from orchestrator.domain.chat import Message, Reply, Request, ToolCall
from orchestrator.domain.ids import SessionId
from orchestrator.llm.errors import CallTimedOut
from orchestrator.llm.scripted_model.cursor import ScriptCursor, ScriptKey
from orchestrator.llm.scripted_model.request_invariants import (
    InvariantBroken,
    check_request,
    is_continuation,
    is_elision,
)
from orchestrator.llm.scripted_model.script import ScriptedReply, read_script


class ScriptedModel:
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
        self._is_free = all(item.cost_usd == 0 for item in items)
        self._cursor = ScriptCursor(items, consumed, name)
        self._name = name
        self._sleep = sleep
        self._requests: list[Request] = []
        self._latest: dict[SessionId, tuple[Message, ...]] = {}
        self._elisions = 0

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
        place, item = self._cursor.take_reply(request.role, request.task)
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

    @property
    def used_counts(self) -> dict[ScriptKey, int]:
        """The number of replies that each (role, task) has used, those of earlier processes included."""
        return self._cursor.used_counts

    @property
    def elision_count(self) -> int:
        """The number of requests that shortened old tool results, and so lost the prompt cache."""
        return self._elisions

    def count_remaining(self) -> dict[ScriptKey, int]:
        """Return how many replies are left for each (role, task); empty when the script was played to its end."""
        return self._cursor.count_remaining()

    def _check(self, request: Request) -> None:
        check_request(request)
        before = self._latest.get(request.session, ())
        if not is_continuation(before, request.messages):
            if not is_elision(before, request.messages):
                raise InvariantBroken(
                    f"request {request.session!r} turn {request.turn} ({request.role}) rewrites its conversation: "
                    f"{_first_difference(before, request.messages)}"
                )
            self._elisions += 1
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
