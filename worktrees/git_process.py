"""One git process from its start to its end. What it reads and writes lies in memory: nobody has to wait at a pipe."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import anyio
from anyio import CancelScope, create_task_group, to_thread
from anyio.abc import Process

from worktrees.safety.named_pipes import watch_for_pipes

_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class GitOutput:
    """The output of a git command; `is_cut` if it was ended because it wrote more than was asked for."""

    stdout: bytes
    exit_code: int
    is_cut: bool = False

    @property
    def text(self) -> str:
        """Standard output as text without its last newline; undecodable bytes become lone surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True)
class GitProcess:
    """A git command before it is started.

    `inherit` are the descriptors that it gets. In `work_tree`, if there is one, nothing of a name that git reads may
    keep it waiting.
    """

    command: Sequence[str]
    directory: Path
    env: Mapping[str, str]
    inherit: tuple[int, ...] = ()
    work_tree: Path | None = None

    async def run(self, stdin: bytes | None, limit_bytes: int | None) -> tuple[GitOutput, bytes]:
        """Run it to its end and return its output and its standard error; it is killed if the caller is cancelled.

        Args:
            stdin: its standard input; nothing if it is empty or None.
            limit_bytes: end it once it has written so much.

        Raises:
            OSError: it could not be started.
        """
        with _open_input(stdin) as given, _open_memory() as out, _open_memory() as errors:
            process = self._start(given, subprocess.PIPE if limit_bytes is not None else out, errors)
            try:
                cut = await self._watch_until_end(process, limit_bytes)
            except BaseException:
                kill_group(process)  # cancelled: nothing it started may go on writing
                with CancelScope(shield=True):
                    await wait_for_exit(process)
                raise
            finally:
                if process.stdout is not None:
                    process.stdout.close()
            stdout = _read_all(out) if cut is None else cut
            return GitOutput(stdout, process.returncode, len(stdout) == limit_bytes), _read_all(errors)

    def _start(self, given: IO[bytes] | int, out: IO[bytes] | int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command,
            stdin=given,
            stdout=out,
            stderr=errors,
            cwd=self.directory,
            env=self.env,
            pass_fds=self.inherit,
            start_new_session=True,
        )

    async def _watch_until_end(self, process: subprocess.Popen[bytes], limit_bytes: int | None) -> bytes | None:
        """Wait for the end; return what was piped, None without a pipe."""
        if self.work_tree is None:
            return await _wait_for_end(process, limit_bytes)
        async with create_task_group() as watch:
            watch.start_soon(watch_for_pipes, self.work_tree)
            piped = await _wait_for_end(process, limit_bytes)
            watch.cancel_scope.cancel()
        return piped


async def _wait_for_end(process: subprocess.Popen[bytes], limit_bytes: int | None) -> bytes | None:
    piped = None
    if process.stdout is not None and limit_bytes is not None:
        piped = await _drain_pipe(process.stdout.fileno(), limit_bytes)
        if len(piped) == limit_bytes:
            kill_group(process)
    await wait_for_exit(process)
    return piped


async def _drain_pipe(pipe: int, limit_bytes: int) -> bytes:
    """Return all that is written to a pipe, or its first `limit_bytes`."""
    into = bytearray()
    while len(into) < limit_bytes:
        await anyio.wait_readable(pipe)
        chunk = os.read(pipe, min(_CHUNK_BYTES, limit_bytes - len(into)))
        if not chunk:
            break
        into += chunk
    return bytes(into)


async def wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended, without a thread that waits for it where the system tells of its end."""
    if process.returncode is not None:  # its number may be another's by now
        return
    try:
        end = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system than Linux, or an old one
        await to_thread.run_sync(process.wait, abandon_on_cancel=True)
        return
    try:
        await anyio.wait_readable(end)
    finally:
        os.close(end)
    process.wait()


def kill_group(process: Process | subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, with all of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _open_memory() -> Iterator[IO[bytes]]:
    """Yield a file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("git"), "w+b")
    else:
        file = TemporaryFile()  # noqa: SIM115 - closed below
    with file:
        yield file


@contextmanager
def _open_input(content: bytes | None) -> Iterator[IO[bytes] | int]:
    if not content:
        yield subprocess.DEVNULL
        return
    with _open_memory() as file:
        file.write(content)
        file.seek(0)  # flushes, too
        yield file


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
