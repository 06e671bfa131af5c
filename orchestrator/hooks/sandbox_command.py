"""A command that nobody vouches for: in the sandbox, on a workspace that it can read and not write."""

from anyio import to_thread

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.hooks.host_command import MAX_OUTPUT_BYTES, HookCommandResult
from orchestrator.ports.hands import CommandEnding, ShellCommand, Workspace

_STDOUT = "ORCHESTRATE_STDOUT"
_LOG_BYTES = 1024 * 1024


async def run_in_sandbox(command: str, stdin: str, workspace: Workspace, timeout_s: float) -> HookCommandResult:
    """Run a command line with `stdin` on its standard input.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    result = await run_command(
        workspace,
        ShellCommand(
            line=f'exec >"${_STDOUT}"\n{command}',
            stdin=stdin,
            timeout_s=timeout_s,
            output_bytes=_LOG_BYTES,
            writable=False,
            files={_STDOUT: "stdout"},
        ),
    )
    if result.ending == CommandEnding.NOT_STARTED:
        raise EnvironmentProblem(f"the command {command!r} could not be started in the sandbox: {result.detail}")
    if result.ending == CommandEnding.EXITED:
        trouble = ""
    else:
        trouble = f"{result.ending} after {result.seconds:.1f} s {result.detail}"
    return HookCommandResult(
        exit_code=result.exit_code,
        stdout=result.files.get(_STDOUT, b"")[:MAX_OUTPUT_BYTES].decode("utf-8", "replace"),
        stderr=await to_thread.run_sync(read_log_ends, result.log),
        seconds=round(result.seconds, 3),
        problem=trouble.rstrip(),
    )
