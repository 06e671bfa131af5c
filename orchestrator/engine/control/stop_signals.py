"""Stopping a run from outside, and what it hears while it works.

The first Ctrl-C drains; the second, SIGTERM and the time limit stop at once. Commands come through the run's inbox.
"""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import anyio
from anyio.abc import TaskGroup, TaskStatus

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event.run import RunDraining
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.command_consumer import CommandConsumer, WorkWithdrawal
from orchestrator.errors import Interrupted, LimitReached, PersonNeeded, Terminated, find_sole_error

_TICK_S = 1.0


def _nothing_to_withdraw(_command: Command) -> AbstractAsyncContextManager[None]:
    """Return a block that stops nothing, for runs whose commands concern nothing that is under way."""
    return nullcontext()


@asynccontextmanager
async def open_stoppable_group(
    context: RunContext, on_change: Callable[[], None], withdraw: WorkWithdrawal = _nothing_to_withdraw
) -> AsyncIterator[TaskGroup]:
    """Open a task group for the run's work that signals, commands and the time limit can end.

    Args:
        context: the run.
        on_change: called when a person has changed the state of the run.
        withdraw: see `CommandConsumer`.

    Raises:
        Interrupted, Terminated: a signal or a person stopped it.
        RunCancelled: a person gave up the run.
        LimitReached: the time limit passed.
        OrchestrateError: whatever stopped one of the tasks, taken out of its exception group.
    """
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_watch_signals, context, on_change)
            tasks.start_soon(_watch_clock, context)
            consumer = CommandConsumer(context.journal, context.directory.inbox)
            tasks.start_soon(consumer.consume_commands, withdraw, on_change)
            yield tasks
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error = find_sole_error(group)
        if error is None:
            raise
        raise error from group


def require_not_stopping(context: RunContext) -> None:
    """Make sure that nobody wants the run to stop; to be asked before anything new begins.

    Raises:
        Interrupted: the run drains.
        PersonNeeded: somebody paused it.
    """
    if context.state.is_draining:
        raise Interrupted("what was running is finished, the rest waits")
    if context.state.user_pause is not None:
        raise PersonNeeded(f"{context.state.user_pause}; go on with: orchestrate continue {context.state.run.run}")


async def _watch_signals(context: RunContext, on_change: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            if number == signal.SIGTERM:
                raise Terminated("stopped by SIGTERM")
            if context.state.is_draining:
                raise Interrupted("stopped by Ctrl-C")
            await context.journal.append(RunDraining())
            on_change()


async def _watch_clock(context: RunContext) -> None:
    """Give signs of life, notice a clock that jumps, and end the run at its time limit.

    The limit is one of the whole run: what earlier processes took of it is gone. Time that the machine slept through
    is not counted.
    """
    begun, spent_s = anyio.current_time(), context.state.wall_s
    while True:
        context.lock.record_heartbeat()
        now = anyio.current_time()
        await context.journal.record_clock_jump()
        limit_s = context.config.run.time_limit_s
        left_s = limit_s - spent_s - (now - begun)
        if limit_s > 0 and left_s <= 0:
            raise LimitReached(f"the time limit of {limit_s:.0f} s is reached: resume with a larger one (--time-limit)")
        await anyio.sleep(min(_TICK_S, left_s) if limit_s > 0 else _TICK_S)
