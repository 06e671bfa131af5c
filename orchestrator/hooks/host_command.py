"""A command of the user's own: bounded in time and output, ended with all it started.

It runs on this machine as the user, or, where nobody vouches for it, in the sandbox on a workspace that it only reads.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from types import MappingProxyType
from typing import IO

import anyio
from anyio import CancelScope, to_thread
from anyio.abc import ByteReceiveStream, Process

from orchestrator.domain.identity import IDENTITY_VARIABLES
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.ports.hands import CommandEnding, ShellCommand, Workspace
from worktrees.git import build_death_prefix
from worktrees.git_process import kill_group

MAX_OUTPUT_BYTES = 64 * 1024
"""Most that is kept of each of a command's two outputs; what comes after is read and dropped."""
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
"""No variables beside the usual environment."""
_LAST_WORDS_S = 1.0
_TRACE, _TRACE_STATE = "TRACEPARENT", "TRACESTATE"
_STDOUT = "ORCHESTRATE_STDOUT"
_LOG_BYTES = 1024 * 1024


@dataclass(frozen=True)
class HookCommandResult:
    """The end of a command; `exit_code` is None where `trouble` says why it did not exit by itself."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    problem: str = ""


async def run_on_host(
    command: str, stdin: str, cwd: Path, timeout_s: float, variables: Mapping[str, str] = NO_VARIABLES
) -> HookCommandResult:
    """Run a command line with `stdin` on its standard input; its whole process group is killed when this returns.

    It has the user's environment, and these variables. Where there are any, the identity of another run is left out of
    the environment, and so is the state of another trace: a hook may have started this process, too.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    begun = monotonic()
    with TemporaryFile() as words:  # no pipe: nobody has to feed a command that does not care for its input
        words.write(stdin.encode("utf-8", "surrogateescape"))
        words.seek(0)
        process = await _started(command, cwd, words, variables)
    out, err = _OutputHead(), _OutputHead()
    try:
        code = await _attend(process, (out, err), timeout_s)
    finally:
        if process.returncode is None:
            kill_group(process)
        with CancelScope(shield=True):
            await process.aclose()
    trouble = f"it was ended after {timeout_s:g} s" * (code is None)
    if code is not None and code < 0:
        trouble = f"it was ended by signal {-code}"
        code = None
    return HookCommandResult(code, out.text, err.text, round(monotonic() - begun, 3), trouble)


async def _attend(process: Process, kept: tuple["_OutputHead", "_OutputHead"], timeout_s: float) -> int | None:
    """Wait until the command exits and end what it left running; return its exit code, None if it was late."""
    code = None
    with anyio.move_on_after(timeout_s):
        async with anyio.create_task_group() as pipes:
            pipes.start_soon(kept[0].drain_stream, process.stdout)
            pipes.start_soon(kept[1].drain_stream, process.stderr)
            code = await process.wait()
            kill_group(process)
            pipes.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
    return code


def _build_environment(variables: Mapping[str, str]) -> dict[str, str]:
    environment = dict(os.environ)
    if variables:
        for name in IDENTITY_VARIABLES:
            environment.pop(name, None)
    if _TRACE in variables:
        environment.pop(_TRACE_STATE, None)
    return {**environment, **variables}


async def _started(command: str, cwd: Path, words: IO[bytes], variables: Mapping[str, str]) -> Process:
    try:
        with CancelScope(shield=True):  # what has been started must not be forgotten
            process = await anyio.open_process(
                [*build_death_prefix(), "/bin/sh", "-c", command],
                stdin=words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=_build_environment(variables),
                start_new_session=True,
            )
    except OSError as error:
        raise EnvironmentProblem(f"the command {command!r} could not be started in {cwd}: {error.strerror}") from error
    return process


class _OutputHead:
    """The beginning of an output."""

    def __init__(self) -> None:
        self._content = bytearray()

    async def drain_stream(self, stream: ByteReceiveStream | None) -> None:
        assert stream is not None
        async for chunk in stream:
            self._content += chunk[: MAX_OUTPUT_BYTES - len(self._content)]

    @property
    def text(self) -> str:
        return self._content.decode("utf-8", "replace")


async def run_in_sandbox(
    command: str, stdin: str, workspace: Workspace, timeout_s: float, variables: Mapping[str, str] = NO_VARIABLES
) -> HookCommandResult:
    """Run a command line with `stdin` on its standard input, and these variables in its environment.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    result = await run_command(
        workspace,
        ShellCommand(
            line=f'exec >"${_STDOUT}"\n{command}',
            stdin=stdin,
            env=dict(variables),
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
