"""Waiting for what nobody announces: processes that die, hosts that join, endings that are written down."""

from collections.abc import Callable

import anyio


async def wait_until(is_so: Callable[[], bool], limit_s: float) -> None:
    """Look again and again; fail after `limit_s` seconds.

    Raises:
        TimeoutError: it has not come to be.
    """
    with anyio.fail_after(limit_s):
        while True:
            if is_so():
                return
            await anyio.sleep(0.02)
