"""Runs one sandboxed command to its end: output into a log, a time limit, an output limit, nothing left behind."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import anyio

from orchestrator.hands.execution.output_pipe import OutputPipe
from orchestrator.hands.limits.resource_usage import UsageReader
from orchestrator.hands.limits.watchdog import ResourceBounds, wait_for_violation
from orchestrator.hands.sandbox.backend import ExecutionRequest
from orchestrator.ports.hands import CommandEnding, CommandResult

_DETAIL_BYTES = 4_000
_SHORT_S = 0.03
"""A command that takes no longer is not looked at while it runs: most of an agent's commands are such."""


class RunningCommand(Protocol):
    """A command that a backend has started.

    `was_killed` is true if something ended it from outside. `usage_reader` reads the sandbox's usage from when the
    command started; None where it cannot be looked into.
    """

    was_killed: bool = False
    usage_reader: UsageReader | None = None

    async def wait_until_started(self) -> None:
        """Wait until the command itself has started, or could not."""

    async def wait_until_exited(self) -> None:
        """Wait until the command has ended."""

    async def kill_command(self) -> None:
        """Kill all processes that the command started and wait until they are dead."""

    def get_exit_code(self) -> int | None:
        """Return the exit code, 128 + n after signal n; None if it never started or was killed."""


StartCommand = Callable[[int, contextlib.ExitStack], RunningCommand]
"""Starts a command that prints to a descriptor; what has to be closed afterwards goes on the stack."""


async def run_until_exit(
    start_command: StartCommand, request: ExecutionRequest, bounds: ResourceBounds, owner: int | None
) -> CommandResult:
    """Run a command to its end; `owner` is the user who must be able to reopen the output from inside.

    Returns only after everything is dead, also when cancelled. Must be awaited in a thread that lives as long as the
    command may.

    Raises:
        OSError: the host could not keep a log or watch the command.
    """
    started_at = anyio.current_time()
    with contextlib.ExitStack() as stack:
        output = OutputPipe(request.log, request.output_bytes, owner)
        stack.callback(output.close)
        try:
            command = start_command(output.writer, stack)
            stack.callback(_close_usage_reader, command)
        except OSError as error:
            return build_not_started_result(request.log, f"The sandbox could not be started: {error}.")
        finally:
            output.close_writer()
        try:
            violation = await _watch(command, output, request.timeout_s, bounds)
        finally:
            with anyio.CancelScope(shield=True):
                await command.kill_command()
                output.copy_available()
        code = command.get_exit_code()
        ending, detail = _judge_ending(command, code, output, violation or bounds.format_oom_kill(), request.log)
        return CommandResult(
            ending=ending,
            exit_code=code if ending == CommandEnding.EXITED else None,
            seconds=anyio.current_time() - started_at,
            log=request.log,
            output_bytes=output.size_bytes,
            detail=detail,
            stray_packets=command.usage_reader.count_stray_packets() if command.usage_reader else 0,
        )


def build_not_started_result(log: Path, detail: str) -> CommandResult:
    """Return the result of a command that could not be started, and why."""
    return CommandResult(
        ending=CommandEnding.NOT_STARTED, exit_code=None, seconds=0.0, log=log, output_bytes=0, detail=detail
    )


_LATE = "late"


async def _watch(command: RunningCommand, output: OutputPipe, timeout_s: float, bounds: ResourceBounds) -> str:
    """Wait until the command ends or exceeds a limit; return `_LATE`, the violation in words, or "".

    Of a short command nothing is looked at: its output is in the pipe when it ends.
    """
    await command.wait_until_started()
    deadline = anyio.current_time() + timeout_s
    with anyio.move_on_after(min(_SHORT_S, timeout_s)):
        await command.wait_until_exited()
        return ""
    return await _watch_long_command(command, output, deadline, bounds)


async def _watch_long_command(
    command: RunningCommand, output: OutputPipe, deadline: float, bounds: ResourceBounds
) -> str:
    violation, limit = "", anyio.CancelScope(deadline=deadline)
    try:
        async with anyio.create_task_group() as group:

            async def copy_output() -> None:
                await output.copy_until_closed()
                if output.is_over_limit or output.failure:
                    group.cancel_scope.cancel()

            async def stop_over_limit() -> None:
                nonlocal violation
                violation = await wait_for_violation(command.usage_reader, bounds)
                group.cancel_scope.cancel()

            group.start_soon(copy_output)
            group.start_soon(stop_over_limit)
            with limit:
                await command.wait_until_exited()
            group.cancel_scope.cancel()
    except ExceptionGroup as errors:
        host_errors, others = errors.split(OSError)
        if host_errors is None or others is not None:
            raise
        raise OSError(f"the command could not be watched: {host_errors.exceptions[0]}") from errors
    if limit.cancelled_caught and not output.is_over_limit and not violation:
        return _LATE
    return violation


def _judge_ending(
    command: RunningCommand, code: int | None, output: OutputPipe, violation: str, log: Path
) -> tuple[CommandEnding, str]:
    """Return how the command ended, and the detail in words."""
    if output.failure:
        return CommandEnding.KILLED, f"Its output could not be kept: {output.failure}."
    if output.is_over_limit:
        return CommandEnding.OUTPUT_LIMIT, ""
    if violation == _LATE:
        return CommandEnding.TIMED_OUT, ""
    if violation:
        return CommandEnding.LIMIT, violation
    if code is not None:
        return CommandEnding.EXITED, ""
    if command.was_killed:
        return CommandEnding.KILLED, ""
    return CommandEnding.NOT_STARTED, _read_log_tail(log)


def _close_usage_reader(command: RunningCommand) -> None:
    """Close the usage reader, also of a command that was cancelled."""
    if command.usage_reader is not None:
        command.usage_reader.close()


def _read_log_tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _DETAIL_BYTES))
        words = file.read().decode(errors="replace").strip()
    return words or "The sandbox ended before the command started, without a word."
