"""Starts one sandboxed command, watches it, and ends it with everything it started.

A result is only given once the last process of the sandbox is dead: what the kernel calls the first process of a
pid namespace outlives all others, and a pidfd tells when it is gone.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio

from orchestrator.hands.bubblewrap import ENVIRONMENT
from orchestrator.hands.output import OutputPipe
from orchestrator.ports.hands import Ending

_DYING_S = 5.0
_DETAIL_BYTES = 4_000
_OOM_SCORE = "800"

Build = Callable[[int, int], list[str]]
"""Makes the command line from the two descriptors on which bubblewrap reports: info and status."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; `seconds` of wall time, `detail` where it did not start."""

    ending: Ending
    exit_code: int | None
    seconds: float
    output_bytes: int
    detail: str = ""


async def run(build: Build, log: Path, timeout_s: float, output_bytes: int, owner: int | None = None) -> Ended:
    """Run to its end, into `log`; `owner` is who must be able to reopen the output from inside.

    Cancelled, it returns only after everything is dead. Must be awaited in the thread that lives as long as the
    command may: the kernel ties the sandbox's life to the thread that started it.
    """
    started = anyio.current_time()
    with contextlib.ExitStack() as stack:
        output = OutputPipe(log, output_bytes, owner)
        stack.callback(output.close)
        try:
            process = _spawn(build, output, stack)
        except OSError as error:
            return Ended(Ending.NOT_STARTED, None, 0.0, 0, f"The sandbox could not be started: {error}.")
        try:
            is_late = await _watch(process, output, timeout_s)
        finally:
            with anyio.CancelScope(shield=True):
                await process.end()
                output.move()
        seconds = anyio.current_time() - started
        return _judge(process, output, is_late, seconds, log)


async def _watch(process: "_Process", output: OutputPipe, timeout_s: float) -> bool:
    """Until the command ends, prints too much, or is late; whether it is late."""
    async with anyio.create_task_group() as group:

        async def pump() -> None:
            await output.pump()
            if output.is_over:
                group.cancel_scope.cancel()

        group.start_soon(pump)
        await process.meet()
        with anyio.move_on_after(timeout_s) as limit:
            await process.exited()
        group.cancel_scope.cancel()
    return limit.cancelled_caught and not output.is_over


def _judge(process: "_Process", output: OutputPipe, is_late: bool, seconds: float, log: Path) -> Ended:
    code = process.exit_code()
    if output.is_over:
        return Ended(Ending.OUTPUT_LIMIT, None, seconds, output.size_bytes)
    if is_late:
        return Ended(Ending.TIMED_OUT, None, seconds, output.size_bytes)
    if code is not None:
        return Ended(Ending.EXITED, code, seconds, output.size_bytes)
    if process.was_killed:
        return Ended(Ending.KILLED, None, seconds, output.size_bytes)
    return Ended(Ending.NOT_STARTED, None, seconds, output.size_bytes, _tail(log))


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _DETAIL_BYTES))
        words = file.read().decode(errors="replace").strip()
    return words or "The sandbox ended before the command started, without a word."


def _spawn(build: Build, output: OutputPipe, stack: contextlib.ExitStack) -> "_Process":
    info_source, info = _pipe(stack)
    status_source, status = _pipe(stack)
    try:
        words = build(info, status)
        with _expendable():
            popen = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output.writer,
                stderr=output.writer,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=(info, status),
                start_new_session=True,
            )
    finally:
        os.close(info)
        os.close(status)
        output.close_writer()
    monitor = os.pidfd_open(popen.pid)
    stack.callback(os.close, monitor)
    return _Process(popen, monitor, info_source, status_source)


@contextlib.contextmanager
def _expendable() -> Iterator[None]:
    """What is started meanwhile is to die before we do if memory runs out: it inherits our score, for a moment high."""
    score = Path("/proc/self/oom_score_adj")
    try:
        usual = score.read_text()
        score.write_text(_OOM_SCORE)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        score.write_text(usual)


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    stack.callback(os.close, source)
    return source, sink


@dataclass
class _Process:
    """The outermost bubblewrap (`popen`, `monitor`) and the first process of its pid namespace (`_first`)."""

    popen: subprocess.Popen[bytes]
    monitor: int
    info: int
    status: int
    was_killed: bool = False
    _told: bytes = b""
    _first: int | None = None

    async def meet(self) -> None:
        """Wait until bubblewrap has told the first process of the sandbox, and hold on to it."""
        while chunk := await _read(self.info):
            self._told += chunk
        found = re.search(rb'"child-pid": (\d+)', self._told)
        if found:
            with contextlib.suppress(ProcessLookupError):
                self._first = os.pidfd_open(int(found[1]))

    async def exited(self) -> None:
        """Wait until bubblewrap itself has exited."""
        await anyio.wait_readable(self.monitor)

    async def end(self) -> None:
        """Kill what still lives and wait until all of it is dead."""
        with anyio.move_on_after(_DYING_S):
            if self._first is None:
                await self.meet()
            self._kill()
            await self.exited()
            self.was_killed = self.popen.wait() < 0
            if self._first is not None:
                await anyio.wait_readable(self._first)
        self._forget_first()

    def _kill(self) -> None:
        for target in (self._first, self.monitor if self._first is None else None):
            if target is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(target, signal.SIGKILL)

    def _forget_first(self) -> None:
        """Reap the first process if it became ours: so it does where we are process 1 of a container."""
        if self._first is None:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self._first, os.WEXITED | os.WNOHANG)
        os.close(self._first)
        self._first = None

    def exit_code(self) -> int | None:
        """The command's exit code, 128 + n after signal n; None if it never started or was killed with the sandbox."""
        told = b"".join(_available(self.status))
        found = re.search(rb'"exit-code": (\d+)', told)
        return int(found[1]) if found else None


async def _read(source: int) -> bytes:
    await anyio.wait_readable(source)
    return os.read(source, 4096)


def _available(source: int) -> Iterator[bytes]:
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(source, 4096):
            yield chunk
