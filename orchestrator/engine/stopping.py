"""How a run is stopped from outside: first Ctrl-C drains; the second, SIGTERM and the time limit stop at once."""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup, TaskStatus

from orchestrator.domain.event.run import RunDraining
from orchestrator.engine.context import RunContext
from orchestrator.errors import Interrupted, LimitReached, Terminated, sole_error


@asynccontextmanager
async def stoppable(context: RunContext, on_drain: Callable[[], None]) -> AsyncIterator[TaskGroup]:
    """A task group for the run's work that signals and the time limit can end.

    Raises:
        Interrupted, Terminated: a signal came.
        LimitReached: the time limit passed.
        OrchestrateError: whatever stopped one of the tasks, taken out of its exception group.
    """
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_watch_signals, context, on_drain)
            tasks.start_soon(_watch_clock, context.config.run.time_limit_s, context.state.wall_s)
            yield tasks
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error = sole_error(group)
        if error is None:
            raise
        raise error from group


async def _watch_signals(context: RunContext, on_drain: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGTERM:
                raise Terminated("stopped by SIGTERM")
            if context.state.is_draining:
                raise Interrupted("stopped by Ctrl-C")
            await context.journal.append(RunDraining())
            on_drain()


async def _watch_clock(limit_s: float, spent_s: float) -> None:
    """The limit is one of the whole run: what earlier processes took of it is gone."""
    if limit_s > 0:
        await anyio.sleep(max(limit_s - spent_s, 0))
        raise LimitReached(f"the time limit of {limit_s:.0f} s is reached: resume with a larger one (--time-limit)")
