"""The pipes of a program that is spoken with: our ends, and those that it gets as its standard input and output."""

import fcntl
import os
from typing import NamedTuple

import anyio

from orchestrator.errors import ProgramGone
from orchestrator.ports.processes import READ_BYTES

_PIPE_BYTES = 256 * 1024


class ChildPipes(NamedTuple):
    """The descriptors that a program gets: to read from, and to print to."""

    stdin: int
    stdout: int


class LocalPipes:
    """The pipes of a program on this host; implements `orchestrator.ports.processes.ProcessPipes`.

    A program that does not read stops `send_bytes`, one that is not listened to stops by itself: nothing is buffered
    but what a pipe holds. `owner` is the user who must be able to reopen them from inside.
    """

    def __init__(self, owner: int | None = None) -> None:
        self._child_source, self._sink = os.pipe()
        self._source, self._child_sink = os.pipe()
        os.set_blocking(self._sink, False)
        os.set_blocking(self._source, False)
        if owner is not None:
            os.fchown(self._child_source, owner, owner)
            os.fchown(self._child_sink, owner, owner)
        try:
            fcntl.fcntl(self._source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            return  # the user's allowance for pipe buffers is used up; the usual size works as well

    @property
    def child(self) -> ChildPipes:
        """The descriptors for the program; valid until `close_child`."""
        return ChildPipes(self._child_source, self._child_sink)

    async def send_bytes(self, content: bytes) -> None:
        """Write to the program's standard input; wait while it does not read.

        Raises:
            ProgramGone: it reads no more.
        """
        rest = memoryview(content)
        while rest:
            if self._sink < 0:
                raise ProgramGone("the program's input is closed")
            try:
                await anyio.wait_writable(self._sink)
                rest = rest[os.write(self._sink, rest) :]
            except BlockingIOError:
                continue
            except (OSError, anyio.ClosedResourceError) as error:
                raise ProgramGone("the program has ended, or reads no more") from error

    async def receive_bytes(self, limit: int = READ_BYTES) -> bytes:
        """Return at most `limit` bytes of the program's output, as soon as there are some; none at the end."""
        while self._source >= 0:
            try:
                await anyio.wait_readable(self._source)
                return os.read(self._source, limit)
            except BlockingIOError:
                continue
            except anyio.ClosedResourceError:
                break
        return b""

    async def close_input(self) -> None:
        """End the program's standard input."""
        self._sink = _close_descriptor(self._sink)

    def close_child(self) -> None:
        """Close the program's ends, once it has its own copies or will never have them."""
        self._child_source = _close_descriptor(self._child_source)
        self._child_sink = _close_descriptor(self._child_sink)

    def close_all(self) -> None:
        """Close everything; whoever waits for output gets its end."""
        self.close_child()
        self._sink = _close_descriptor(self._sink)
        self._source = _close_descriptor(self._source)


def _close_descriptor(number: int) -> int:
    """Close a descriptor that somebody may wait for, unless it is closed already; return -1."""
    if number >= 0:
        anyio.notify_closing(number)
        os.close(number)
    return -1
