"""Hosts within the process of a test: real hands behind real messages, and a link that is lost when a test says so."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from orchestrator.errors import HostLost
from orchestrator.hands.hosts.agent.host_agent import HostAgent, HostIdentity
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.ports.background_tasks import run_background_tasks


class InProcessLink:
    """A link to an agent in the same process. `requests` are all texts that were sent, in order.

    With `loses_at` the host is lost at the first request for which it returns True, before the agent sees it.
    """

    def __init__(self, agent: HostAgent, loses_at: Callable[[str], bool] = lambda _: False) -> None:
        self.agent = agent
        self.host = agent.identity.name
        self.address = "in-process"
        self.requests: list[str] = []
        self.is_dropped = False
        self._loses_at = loses_at
        self._lost = anyio.Event()

    async def ask_text(self, text: str, *, is_wait: bool = False) -> str:
        self.requests.append(text)
        if self._loses_at(text):
            self.lose_host()
        replies: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def answer() -> None:
                replies.append(await self.agent.answer_text(text))
                tasks.cancel_scope.cancel()

            if not self._lost.is_set():
                tasks.start_soon(answer)
            await self._lost.wait()
            tasks.cancel_scope.cancel()
        if not replies:
            raise HostLost(f"host {self.host} is lost", self.host)
        return replies[0]

    async def drop_host(self) -> None:
        self.is_dropped = True

    def lose_host(self) -> None:
        self._lost.set()


@asynccontextmanager
async def run_agent(place: Path, name: str, slots: int = 2, version: str = "test") -> AsyncIterator[HostAgent]:
    """Run the agent of a host in this process while the block lasts; `place` is its own directory."""
    async with run_background_tasks() as tasks:
        agent = HostAgent(HostIdentity(name, slots, version), HostStore(place), tasks)
        try:
            yield agent
        finally:
            await agent.close()
