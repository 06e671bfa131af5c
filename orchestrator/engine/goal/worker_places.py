"""The places of workers: so many may be at work at once, while the workspaces of the next are made ready."""

import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

_PREPARED_SHARE = 8
"""One attempt for so many workers may have its workspace made ready before there is a place for its worker."""


def count_prepared_attempts(workers: int) -> int:
    """Return how many attempts may begin ahead of a place for their worker; none for a few workers."""
    return workers // _PREPARED_SHARE


class WorkerPlaces:
    """Places for workers, given in the order in which they are asked for; without a count there is no end of them."""

    def __init__(self) -> None:
        self._count = math.inf
        self._taken = 0
        self._waiting: deque[anyio.Event] = deque()

    def set_count(self, count: float) -> None:
        """Set how many workers may be at work; those who are beyond that finish."""
        self._count = count
        self._admit_waiting()

    @asynccontextmanager
    async def hold_place(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it while the block lasts."""
        admitted = anyio.Event()
        self._waiting.append(admitted)
        try:
            self._admit_waiting()
            await admitted.wait()
            yield
        finally:
            if admitted in self._waiting:
                self._waiting.remove(admitted)
            else:
                self._taken -= 1
                self._admit_waiting()

    def _admit_waiting(self) -> None:
        while self._waiting and self._taken < self._count:
            self._taken += 1
            self._waiting.popleft().set()
