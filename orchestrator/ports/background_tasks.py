"""Tasks that run beside a block of code, and end with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def run_background_tasks() -> AsyncIterator[TaskGroup]:
    """Run tasks while the block lasts, and cancel them at its end; an error of the block comes out as it is."""
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below: the group would wrap it
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
