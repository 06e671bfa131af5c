"""Run one command to its end on any kind of workspace, and read what it printed."""

from pathlib import Path
from uuid import uuid4

import anyio
import anyio.to_thread

from orchestrator.domain.text.truncation import LIMIT_CHARS, truncate_bytes, truncate_text
from orchestrator.ports.hands import CommandResult, ShellCommand, Workspace

_KILL_S = 5.0
_END_BYTES = 64 * 1024
SHORT_BYTES = 16 * 1024


async def run_command(workspace: Workspace, command: ShellCommand) -> CommandResult:
    """Start a command and wait for its result in short waits; if cancelled, kill it first.

    Raises:
        EnvironmentProblem: the workspace's host has no sandbox to run commands in.
        ToolRefused: the command cannot be run as asked.
    """
    call_id = uuid4().hex
    try:
        await workspace.start_command(call_id, command)
        while (result := await workspace.wait_for_result(call_id)) is None:
            pass
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(_KILL_S, shield=True):
            await workspace.kill_command(call_id)
        raise
    return result


async def run_and_read(workspace: Workspace, command: ShellCommand) -> tuple[CommandResult, str]:
    """Run a command as `run_command` does; return also the output in its log, shortened if it is long."""
    result = await run_command(workspace, command)
    if result.output_bytes <= SHORT_BYTES:  # written just now: reading it takes less than the way to a thread
        return result, read_log_ends(result.log)
    return result, await anyio.to_thread.run_sync(read_log_ends, result.log)


def read_log_ends(log: Path, limit_chars: int = LIMIT_CHARS) -> str:
    """Return the output in a log, shortened to its head and tail if it is long. Blocks."""
    size = log.stat().st_size
    if size <= 2 * _END_BYTES:
        return truncate_text(log.read_bytes().decode("utf-8", "replace"), limit_chars).text
    with log.open("rb") as file:
        head = file.read(_END_BYTES)
        file.seek(size - _END_BYTES)
        return truncate_bytes(head, file.read(), size, limit_chars).text
