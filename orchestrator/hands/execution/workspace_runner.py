"""Run one command to its end on any kind of workspace."""

from uuid import uuid4

import anyio

from orchestrator.ports.hands import CommandResult, ShellCommand, Workspace

_KILL_S = 5.0


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
