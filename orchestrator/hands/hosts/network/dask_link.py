"""The link to a host over Dask `distributed`, with the guard that ends every call when the host is lost."""

from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import TaskGroup
from distributed.comm.core import CommClosedError

from orchestrator.errors import HostLost

_RETRY_S = 0.2
HANDLER = "answer_host_request"
"""The name of our handler among those of a Dask worker."""


class RemoteHandler(Protocol):
    """The handler of a worker, as its connections offer it."""

    async def answer_host_request(self, *, text: str) -> str:
        """Carry out a request."""


@dataclass(eq=False)
class _Call:
    """A request under way; `reply` is None until there is one."""

    done: anyio.Event = field(default_factory=anyio.Event)
    reply: str | None = None


@dataclass(eq=False)
class DaskLink:
    """Implements `orchestrator.hands.hosts.links.HostLink` on a worker that joined the scheduler.

    A call is never cancelled on its way, as its connection could then carry the answer of another one: whoever gives up
    waiting goes away, and the host ends the call by itself within ten seconds. `tasks` are those of the listener.
    `wait_handler` has connections of its own: many waits may be under way, and each takes one.
    """

    host: str
    address: str
    handler: RemoteHandler
    wait_handler: RemoteHandler
    tasks: TaskGroup
    on_broken: "LossReport"
    reason: str | None = None
    """The reason that the host is lost; None while it is not."""
    _calls: set[_Call] = field(default_factory=set)

    async def ask_text(self, text: str, *, is_wait: bool = False) -> str:
        """Send a request, and return the reply; one that `is_wait` is in no other's way.

        Raises:
            HostLost: the host is lost, or was while the request was under way.
        """
        call = _Call()
        if self.reason is None:
            self._calls.add(call)
            self.tasks.start_soon(self._carry_call, call, text, self.wait_handler if is_wait else self.handler)
            try:
                await call.done.wait()
            finally:
                self._calls.discard(call)
        if call.reply is None:
            raise HostLost(f"host {self.host} is lost: {self.reason}", self.host)
        return call.reply

    async def drop_host(self) -> None:
        """Have no more to do with the host."""
        await self.on_broken(self, "it was dismissed")

    def mark_lost(self, reason: str) -> None:
        """End every call under way, and fail every later one at once."""
        if self.reason is None:
            self.reason = reason
        for call in tuple(self._calls):
            call.done.set()

    async def _carry_call(self, call: _Call, text: str, handler: RemoteHandler) -> None:
        try:
            while self.reason is None and call.reply is None:
                call.reply = await self._try_call(text, handler)
        except CommClosedError:
            if self.reason is None:
                await self.on_broken(self, "its connection broke")
        except Exception as error:  # noqa: BLE001 - whatever one host makes Dask raise: only that host ends by it
            if self.reason is None:
                await self.on_broken(self, f"a call to it failed: {type(error).__name__}: {error}")
        finally:
            call.done.set()

    async def _try_call(self, text: str, handler: RemoteHandler) -> str | None:
        """Return the reply; None where no connection could be made, so that nothing was sent."""
        try:
            return await handler.answer_host_request(text=text)
        except CommClosedError:
            raise
        except OSError:  # the host may be busy; one that is gone is found out by whoever watches it
            await anyio.sleep(_RETRY_S)
            return None


class LossReport(Protocol):
    """Called when a link is found broken."""

    async def __call__(self, link: DaskLink, reason: str) -> None:
        """Take the link's host for lost."""
