"""Runs one sandboxed command to its end: output into a log, a time limit, an output limit, nothing left behind."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.hands.execution.output_pipe import OutputPipe
from orchestrator.hands.execution.sandbox_process import BuildCommandLine, PassedDescriptors, start_bubblewrap
from orchestrator.hands.limits.resource_usage import UsageReader
from orchestrator.hands.limits.watchdog import ResourceBounds, wait_for_violation
from orchestrator.ports.hands import CommandEnding

_DETAIL_BYTES = 4_000


@dataclass(frozen=True)
class ProcessOutcome:
    """The end of a command.

    `seconds` is wall time. `detail` says why it did not start, what it used too much of, or how the host failed.
    `network` lists what it reached or was refused, `stray_packets` counts packets that had no way out.
    """

    ending: CommandEnding
    exit_code: int | None
    seconds: float
    output_bytes: int
    detail: str = ""
    network: tuple[NetworkDecision, ...] = ()
    stray_packets: int = 0

    @classmethod
    def build_not_started(cls, detail: str) -> "ProcessOutcome":
        """Return the outcome of a command that could not be started, and why."""
        return cls(CommandEnding.NOT_STARTED, None, 0.0, 0, detail)


@dataclass(frozen=True)
class ExecutionTerms:
    """The terms a command runs under: seconds of wall time, bytes of output, and resource bounds.

    `owner` is the user who must be able to reopen the output from inside, `filter_file` the filter of its system calls.
    """

    timeout_s: float
    output_bytes: int
    bounds: ResourceBounds
    owner: int | None = None
    filter_file: Path | None = None


class RunningCommand(Protocol):
    """A command that a backend has started."""

    @property
    def was_killed(self) -> bool:
        """True if something ended it from outside."""

    @property
    def usage_reader(self) -> UsageReader | None:
        """The reader of the sandbox's usage, from when the command started; None where it cannot be looked into."""

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


async def run_bubblewrap(build: BuildCommandLine, log: Path, terms: ExecutionTerms, stdin: str = "") -> ProcessOutcome:
    """Run a bubblewrap to its end, into `log`; see `run_until_exit`."""
    return await run_until_exit(partial(_start_with_bounds, build, stdin, terms), log, terms)


def _start_with_bounds(
    build: BuildCommandLine, stdin: str, terms: ExecutionTerms, writer: int, stack: contextlib.ExitStack
) -> RunningCommand:
    def build_within_bounds(descriptors: PassedDescriptors) -> list[str]:
        return terms.bounds.wrap_command(build(descriptors))

    closely_watched = terms.bounds.closely_watched
    return start_bubblewrap(build_within_bounds, writer, stack, stdin, terms.filter_file, closely_watched)


async def run_until_exit(start_command: StartCommand, log: Path, terms: ExecutionTerms) -> ProcessOutcome:
    """Run a command to its end, its output into `log`.

    Returns only after everything is dead, also when cancelled. Must be awaited in a thread that lives as long as the
    command may.

    Raises:
        OSError: the host could not keep a log or watch the command.
    """
    started_at = anyio.current_time()
    with contextlib.ExitStack() as stack:
        output = OutputPipe(log, terms.output_bytes, terms.owner)
        stack.callback(output.close)
        try:
            command = start_command(output.writer, stack)
            stack.callback(_close_usage_reader, command)
        except OSError as error:
            return ProcessOutcome.build_not_started(f"The sandbox could not be started: {error}.")
        finally:
            output.close_writer()
        try:
            violation = await _watch(command, output, terms)
        finally:
            with anyio.CancelScope(shield=True):
                await command.kill_command()
                output.copy_available()
        violation = violation or terms.bounds.format_oom_kill()
        outcome = _build_outcome(command, output, violation, anyio.current_time() - started_at, log)
        if command.usage_reader is None:
            return outcome
        return replace(outcome, stray_packets=command.usage_reader.count_stray_packets())


_LATE = "late"


async def _watch(command: RunningCommand, output: OutputPipe, terms: ExecutionTerms) -> str:
    """Wait until the command ends or exceeds a limit; return `_LATE`, the violation in words, or ""."""
    violation, limit = "", anyio.CancelScope()
    try:
        async with anyio.create_task_group() as group:

            async def copy_output() -> None:
                await output.copy_until_closed()
                if output.is_over_limit or output.failure:
                    group.cancel_scope.cancel()

            async def stop_over_limit() -> None:
                nonlocal violation
                violation = await wait_for_violation(command.usage_reader, terms.bounds)
                group.cancel_scope.cancel()

            group.start_soon(copy_output)
            await command.wait_until_started()
            group.start_soon(stop_over_limit)
            limit.deadline = anyio.current_time() + terms.timeout_s
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


def _build_outcome(
    command: RunningCommand, output: OutputPipe, violation: str, seconds: float, log: Path
) -> ProcessOutcome:
    code, size = command.get_exit_code(), output.size_bytes
    if output.failure:
        detail = f"Its output could not be kept: {output.failure}."
        return ProcessOutcome(CommandEnding.KILLED, None, seconds, size, detail)
    if output.is_over_limit:
        return ProcessOutcome(CommandEnding.OUTPUT_LIMIT, None, seconds, size)
    if violation == _LATE:
        return ProcessOutcome(CommandEnding.TIMED_OUT, None, seconds, size)
    if violation:
        return ProcessOutcome(CommandEnding.LIMIT, None, seconds, size, violation)
    if code is not None:
        return ProcessOutcome(CommandEnding.EXITED, code, seconds, size)
    if command.was_killed:
        return ProcessOutcome(CommandEnding.KILLED, None, seconds, size)
    return ProcessOutcome(CommandEnding.NOT_STARTED, None, seconds, size, _read_log_tail(log))


def _close_usage_reader(command: RunningCommand) -> None:
    """Close the usage reader, also of a command that was cancelled."""
    if command.usage_reader is not None:
        command.usage_reader.close()


def _read_log_tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _DETAIL_BYTES))
        words = file.read().decode(errors="replace").strip()
    return words or "The sandbox ended before the command started, without a word."
