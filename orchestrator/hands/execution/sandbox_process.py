"""One bubblewrap that was started: knowing when it ends, ending it, and being sure that all of it is dead.

What the kernel calls the first process of a pid namespace outlives all others in it, and a pidfd tells when it is
gone. So a result is only given once nothing of the sandbox can write any more.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from orchestrator.hands.execution.process_pipes import ChildPipes
from orchestrator.hands.execution.process_runner import RunningCommand
from orchestrator.hands.limits.resource_usage import Resource, UsageReader
from orchestrator.hands.sandbox.bubblewrap_arguments import BUBBLEWRAP_ENVIRONMENT
from worktrees.safety.descriptors import hold_descriptor

_DYING_S = 5.0
_OOM_SCORE = b"800"
_RAISED = ("/bin/sh", "-c", f'echo {_OOM_SCORE.decode()} 2>/dev/null >/proc/self/oom_score_adj; exec "$@"', "sh")


@dataclass(frozen=True)
class PassedDescriptors:
    """The descriptors that a bubblewrap gets: where it reports, what opens the gate, and what is to be read.

    `filter` holds the filter of system calls, `secrets` options that may not stand in its argument list.
    """

    info: int
    status: int
    gate: int
    filter: int | None
    secrets: int | None = None

    def __iter__(self) -> Iterator[int]:
        numbers = (self.info, self.status, self.gate, self.filter, self.secrets)
        return (number for number in numbers if number is not None)


BuildCommandLine = Callable[[PassedDescriptors], list[str]]
"""Builds the command line from the descriptors that the program gets."""


@dataclass
class SandboxProcess(RunningCommand):
    """The outermost bubblewrap (`popen`, `bubblewrap_pidfd`) and the first process of its sandbox (`init_pidfd`).

    `info` and `status` are the ends of pipes on which bubblewrap reports; closing `gate` lets the command start.
    `usage_reader` looks into the sandbox from outside once it stands, with a close look at the resources in
    `closely_watched`.
    """

    popen: subprocess.Popen[bytes]
    bubblewrap_pidfd: int
    info: int
    status: int
    gate: int
    closely_watched: frozenset[Resource] = frozenset()
    init_pidfd: int | None = None
    info_report: bytes = b""
    status_report: bytes = b""

    async def wait_until_started(self) -> None:
        """Wait until the sandbox stands, open its usage reader, and let the command start."""
        self.status_report += await _read_report(self.status)  # it comes last: the other report is complete by then
        await self._find_init_process()
        outer, inner = _parse_child_pid(self.info_report), _parse_child_pid(self.status_report)
        if self.init_pidfd is not None and outer is not None and inner is not None:
            with contextlib.suppress(OSError):  # it is gone already: there is nothing to be seen
                self.usage_reader = UsageReader(outer, inner, self.closely_watched)  # a few files of /proc
        self._open_gate()

    async def _find_init_process(self) -> None:
        """Wait until bubblewrap reports the first process of the sandbox, and open a pidfd of it."""
        self.info_report += b"".join(_read_available(self.info))
        while (found := _parse_child_pid(self.info_report)) is None:
            chunk = await _read_report(self.info)
            if not chunk:
                break
            self.info_report += chunk
        if found is not None:
            with contextlib.suppress(OSError):  # it is gone already, or we have no descriptor left
                self.init_pidfd = os.pidfd_open(found)

    async def wait_until_exited(self) -> None:
        """Wait until bubblewrap itself has exited."""
        await _wait_for_exit(self.bubblewrap_pidfd)

    async def kill_command(self) -> None:
        """Kill all processes and wait until they are dead, at most 5 s for one that is stuck in the kernel."""
        with anyio.move_on_after(_DYING_S):
            if self.init_pidfd is None:
                await self._find_init_process()
            self._send_kill()
            await self.wait_until_exited()
            self.was_killed = self.popen.wait() < 0
            if self.init_pidfd is not None:
                await _wait_for_exit(self.init_pidfd)
        self._open_gate()
        self._release_init_process()

    def _send_kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            pidfd = self.bubblewrap_pidfd if self.init_pidfd is None else self.init_pidfd
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def _open_gate(self) -> None:
        if self.gate >= 0:
            os.close(self.gate)
            self.gate = -1

    def _release_init_process(self) -> None:
        """Reap the first process if it became our child, as it does where we are process 1 of a container."""
        if self.init_pidfd is None:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self.init_pidfd, os.WEXITED | os.WNOHANG)
        os.close(self.init_pidfd)
        self.init_pidfd = None

    def get_exit_code(self) -> int | None:
        """Return the exit code, 128 + n after signal n; None if it never started or was killed."""
        found = re.search(rb'"exit-code": (\d+)', self.status_report + b"".join(_read_available(self.status)))
        return int(found[1]) if found else None


@dataclass(frozen=True)
class CommandInput:
    """What a command reads: a text, or pipes by which it is spoken with; and variables that nobody else may see."""

    text: str = ""
    pipes: ChildPipes | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def open_stdin(self, stack: contextlib.ExitStack) -> int:
        """Return the descriptor of its standard input; it is closed with the stack, or by whoever has the pipes."""
        return self.pipes.stdin if self.pipes else open_text_descriptor(self.text, stack)

    def get_stdout(self, writer: int) -> int:
        """Return the descriptor of its standard output; `writer` leads to its log."""
        return self.pipes.stdout if self.pipes else writer

    def open_secrets(self, stack: contextlib.ExitStack) -> int | None:
        """Return a descriptor of the options of bubblewrap that set the secrets; None without any."""
        if not self.secrets:
            return None
        words: list[str] = []
        for name, value in self.secrets.items():
            words += ["--setenv", name, value]
        return open_text_descriptor("\0".join((*words, "")), stack)


def start_bubblewrap(
    build: BuildCommandLine,
    writer: int,
    stack: contextlib.ExitStack,
    source: CommandInput,
    filter_file: Path | None,
    closely_watched: frozenset[Resource],
) -> SandboxProcess:
    """Start a bubblewrap that reads `source` and prints to `writer`; its descriptors are closed with the stack.

    Must be called in a thread that lives as long as the command may: the kernel kills the command when the thread ends.

    Raises:
        OSError: the host could not start it.
    """
    with contextlib.ExitStack() as child_stack:
        info_source, info = _open_pipe(stack, child_stack)
        status_source, status = _open_pipe(stack, child_stack)
        gate_source, gate = os.pipe()
        child_stack.callback(os.close, gate_source)
        filter_fd = None if filter_file is None else os.open(filter_file, os.O_RDONLY | os.O_CLOEXEC)
        passed = PassedDescriptors(info, status, gate_source, filter_fd, source.open_secrets(stack))
        if filter_fd is not None:
            child_stack.callback(os.close, filter_fd)
        try:
            streams = (source.open_stdin(stack), source.get_stdout(writer), writer)
            popen = _spawn(build(passed), streams, tuple(passed))
        except OSError:
            os.close(gate)
            raise
    try:
        bubblewrap_pidfd = os.pidfd_open(popen.pid)
    except OSError:
        os.close(gate)
        popen.kill()
        popen.wait()
        raise
    stack.callback(os.close, bubblewrap_pidfd)
    return SandboxProcess(popen, bubblewrap_pidfd, info_source, status_source, gate, closely_watched)


def open_text_descriptor(text: str, stack: contextlib.ExitStack) -> int:
    """Return a descriptor to read a text from: a file without a name, so that nobody has to feed a pipe."""
    if not text:
        return subprocess.DEVNULL
    descriptor = os.memfd_create("stdin")
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _spawn(words: list[str], streams: tuple[int, int, int], passed: tuple[int, ...]) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    with _raise_oom_score() as prefix:
        return subprocess.Popen(
            [*prefix, *words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=BUBBLEWRAP_ENVIRONMENT,
            cwd="/",
            pass_fds=passed,
            start_new_session=True,
        )


@contextlib.contextmanager
def _raise_oom_score() -> Iterator[tuple[str, ...]]:
    """Make processes started in the block die before us when memory runs out: they inherit our raised score.

    Yields the words to put before their command line. These raise the score where we may not change our own, because
    the process hides its memory from its own user.
    """
    try:
        score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        yield _RAISED
        return
    except OSError:
        yield ()
        return
    with hold_descriptor(score):
        usual = os.pread(score, 16, 0)
        try:
            os.pwrite(score, _OOM_SCORE, 0)
        except PermissionError:  # one that is higher may not be lowered
            yield _RAISED
            return
        try:
            yield ()
        finally:
            os.pwrite(score, usual, 0)


def _open_pipe(own_stack: contextlib.ExitStack, child_stack: contextlib.ExitStack) -> tuple[int, int]:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    own_stack.callback(os.close, source)
    child_stack.callback(os.close, sink)
    return source, sink


def _parse_child_pid(report: bytes) -> int | None:
    found = re.search(rb'"child-pid": (\d+)', report)
    return int(found[1]) if found else None


async def _wait_for_exit(pidfd: int) -> None:
    """Wait until a process has ended; return at once if it has."""
    look = select.poll()
    look.register(pidfd, select.POLLIN)
    if not look.poll(0):
        await anyio.wait_readable(pidfd)


async def _read_report(source: int) -> bytes:
    await anyio.wait_readable(source)
    return os.read(source, 4096)


def _read_available(source: int) -> Iterator[bytes]:
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(source, 4096):
            yield chunk
