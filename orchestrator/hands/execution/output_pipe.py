"""Moves what a command prints into its log, inside the kernel and up to a limit.

The command gets a pipe and not the log itself: a script that opens /dev/stderr would truncate a file, and a file
of another owner could not be opened at all.
"""

import errno
import fcntl
import os
from pathlib import Path

import anyio

_PIPE_BYTES = 256 * 1024
_STEPS = 16
_PAUSE_S = 0.03
_BUSY_PAUSE_S = 0.001


class OutputPipe:
    """A pipe into the file `log`.

    `size_bytes` counts what has arrived; `is_over_limit` is true once the limit was reached. `failure` says why the log
    could not be written: because the disk is full, for example.
    """

    def __init__(self, log: Path, limit_bytes: int, owner: int | None) -> None:
        self.size_bytes = 0
        self.is_over_limit = False
        self.failure = ""
        self._can_splice = True
        self._limit = limit_bytes
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._source, self.writer = os.pipe()
        os.set_blocking(self._source, False)
        if owner is not None:
            os.fchown(self.writer, owner, owner)
        try:
            fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            return  # the user's allowance for pipe buffers is used up; the usual size works as well

    async def copy_until_closed(self) -> None:
        """Move output until the command closes its end or the limit is reached, in steps that gather many writes."""
        while True:
            await anyio.wait_readable(self._source)
            previous_size = self.size_bytes
            if self.copy_available():
                return
            is_busy = self.size_bytes - previous_size >= _PIPE_BYTES // 4
            await anyio.sleep(_BUSY_PAUSE_S if is_busy else _PAUSE_S)

    def copy_available(self) -> bool:
        """Move the output available now, a few megabytes at most; return True if no more will come."""
        for _ in range(_STEPS):
            # One byte more than allowed tells just enough output from too much.
            try:
                moved = self._transfer(min(_PIPE_BYTES, self._limit + 1 - self.size_bytes))
            except BlockingIOError:
                return False
            except OSError as error:
                self.failure = str(error)
                return True
            self.size_bytes += moved
            self.is_over_limit = self.size_bytes > self._limit
            if self.is_over_limit:
                os.ftruncate(self._log, self._limit)
                self.size_bytes = self._limit
            if moved == 0 or self.is_over_limit:
                return True
        return False

    def _transfer(self, limit: int) -> int:
        """Move at most `limit` bytes; return how many, 0 at the end."""
        if self._can_splice:
            try:
                return os.splice(self._source, self._log, limit, flags=os.SPLICE_F_NONBLOCK)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
            self._can_splice = False  # the log's file system does not know it
        chunk = memoryview(os.read(self._source, limit))
        written = 0
        while written < len(chunk):
            written += os.write(self._log, chunk[written:])
        return written

    def close_writer(self) -> None:
        """Close our own end for writing, once the command has its copy."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Close everything; the log stays."""
        self.close_writer()
        os.close(self._source)
        os.close(self._log)
