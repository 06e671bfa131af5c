"""Work in workspaces of its own that is done again where the host of one was lost."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from orchestrator.errors import HostLost

T = TypeVar("T")
MOST_TRIES = 5
"""So often a piece of work is begun that loses its host each time: it may be what ends the hosts."""


async def repeat_on_lost_host(work: Callable[[], Awaitable[T]]) -> T:
    """Return what the work returns; it is done again at once where a host is lost, and opens another workspace then.

    Raises:
        HostLost: every try lost its host.
    """
    for _ in range(MOST_TRIES - 1):
        try:
            return await work()
        except HostLost:
            continue
    return await work()
