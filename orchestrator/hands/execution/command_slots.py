"""Bound the commands that run at once; the harness's own go before those of agents."""

import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


def count_command_slots(wanted: int | None) -> int:
    """Return the number of commands that run at once: as wanted, or one for each core."""
    return wanted or len(os.sched_getaffinity(0))


class CommandSlots:
    """So many commands may run at once; the rest waits, in the order in which it came and by who asked.

    What lands is waited for by many tasks, what an agent runs by one: so checks pass agents' commands, which run on as
    soon as no check waits.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = total
        self._checks: deque[anyio.Event] = deque()
        self._agents: deque[anyio.Event] = deque()

    @asynccontextmanager
    async def hold_slot(self, *, is_agent: bool) -> AsyncIterator[None]:
        """Wait for a slot, and give it back at the end."""
        await self._wait_for_turn(self._agents if is_agent else self._checks)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait_for_turn(self, queue: deque[anyio.Event]) -> None:
        if self._free:
            self._free -= 1
            return
        turn = anyio.Event()
        queue.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._pass_on()
            else:
                queue.remove(turn)
            raise

    def _pass_on(self) -> None:
        """Give a slot to whoever is next."""
        for queue in (self._checks, self._agents):
            if queue:
                queue.popleft().set()
                return
        self._free += 1
