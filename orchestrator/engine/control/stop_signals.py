"""Steering a run from outside: the commands of its inbox, taken beside the engine, signals and the time limit.

Each command is recorded with what became of it. The first Ctrl-C drains; the second, SIGTERM and the time limit stop at
once.
"""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from pydantic import ValidationError

from orchestrator.config.live_config import build_effective_config, describe_first_problem
from orchestrator.config.model import Config
from orchestrator.crash import crash_point
from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Configure, Deny, InboxCommand, Stop
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalDecided, CommandTaken
from orchestrator.domain.event.run import RunDraining
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.errors import Interrupted, LimitReached, PersonNeeded, RunCancelled, Terminated, find_sole_error
from orchestrator.journal.inbox import Inbox
from orchestrator.journal.journal import Journal

_POLL_S = 0.2

WorkWithdrawal = Callable[[Command], AbstractAsyncContextManager[None]]
"""Has stopped what was being done about the tasks that a command changes, and begins nothing while it lasts."""


class CommandConsumer:
    """Takes commands, each once, in the order in which they came."""

    def __init__(self, journal: Journal, inbox: Inbox) -> None:
        self._journal = journal
        self._inbox = inbox

    async def consume_commands(self, withdraw: WorkWithdrawal, on_change: Callable[[], None]) -> None:
        """Take commands and answer approvals whose time is over, for as long as this is awaited.

        Raises:
            Interrupted, Terminated: a person stopped the engine.
            RunCancelled: a person gave up the run; that is not recorded yet.
        """
        while True:
            for path, sent in await to_thread.run_sync(lambda: list(self._inbox.iterate_commands())):
                if isinstance(sent.command, Cancel) and sent.command.task is None and not self._explain_refusal(sent):
                    raise RunCancelled(f"cancelled by {sent.by}")
                async with withdraw(sent.command):
                    await self._take_command(path, sent)
                on_change()
                _raise_stop(sent)
            if await self._expire_approvals():
                on_change()
            await anyio.sleep(_POLL_S)

    async def take_pending_commands(self) -> None:
        """Take what was sent while no engine lived; a stop meant for this one is left for `consume_commands`."""
        for path, sent in await to_thread.run_sync(lambda: list(self._inbox.iterate_commands())):
            if isinstance(sent.command, Stop) and sent.command.process == os.getpid():
                continue
            refusal = "the engine that it was meant for had ended" * isinstance(sent.command, Stop)
            await self._take_command(path, sent, refusal)
        await self._expire_approvals()

    async def _take_command(self, path: Path, sent: InboxCommand, refused: str = "") -> None:
        """Record a command, then remove its file: killed in between, it is only removed the next time."""
        crash_point("inbox.before-record")
        if sent.key not in self._journal.state.taken_commands:
            await self._journal.append(*_build_events(sent, refused or self._explain_refusal(sent)))
        crash_point("inbox.after-record")
        await to_thread.run_sync(path.unlink, True)

    def _explain_refusal(self, sent: InboxCommand) -> str:
        state = self._journal.state
        return explain_refusal(state, sent.command) or _find_invalid_setting(state, sent.command)

    async def _expire_approvals(self) -> bool:
        await self._journal.record_clock_jump()
        now = self._journal.read_clock()
        decided = []
        for pending in self._journal.state.pending_approvals:
            if pending.has_expired(now):
                item, default = pending.approval.item, pending.approval.default
                decided.append(ApprovalDecided(item=item, decision=default, by="expiry", reason="no answer"))
        await self._journal.append(*decided)
        return bool(decided)


def _build_events(sent: InboxCommand, refused: str) -> list[Event]:
    command = sent.command
    taken = CommandTaken(key=sent.key, by=sent.by, sent_at=sent.at, command=command, refused=refused)
    if refused or not isinstance(command, Approve | Deny):
        return [taken]
    return [taken, ApprovalDecided(item=command.item, decision=command.do, by=sent.by, reason=command.reason)]


def _find_invalid_setting(state: RunState, command: Command) -> str:
    if not isinstance(command, Configure):
        return ""
    try:
        Config.model_validate(command.settings) if command.is_all else build_effective_config(state, command.settings)
    except ValidationError as error:
        return describe_first_problem(error)
    return ""


def _raise_stop(sent: InboxCommand) -> None:
    match sent.command:
        case Stop(how="interrupt"):
            raise Interrupted(f"stopped by {sent.by}")
        case Stop(how="terminate"):
            raise Terminated(f"stopped by {sent.by}")


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
        raise Interrupted("drained: what was running is finished, the rest waits")
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
