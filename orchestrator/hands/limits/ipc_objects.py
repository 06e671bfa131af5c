"""System V objects of a sandbox: shared memory, messages and semaphores, which belong to no process.

The kernel lists them in /proc/sysvipc, to each process those of its own name space. So a short-lived process of ours
enters that of the sandbox, opens the files there, and hands the descriptors back.
"""

import contextlib
import os
import socket
import subprocess
from dataclasses import dataclass

from orchestrator.hands.toolchain.interpreters import get_own_python

_TIMEOUT_S = 10.0
_SEMAPHORE_BYTES = 64
"""The kernel gives each one a cache line."""

_COLUMNS = {"shm": (("rss", 1), ("swap", 1)), "msg": (("cbytes", 1),), "sem": (("nsems", _SEMAPHORE_BYTES),)}
"""The columns of each file that count memory, and the bytes of one unit."""

_ENTER = """
import ctypes, fcntl, os, socket, sys
library = ctypes.CDLL(None, use_errno=True)
space = int(sys.argv[1])
if library.setns(space, 0):
    library.setns(fcntl.ioctl(space, 0xB701), 0)  # NS_GET_USERNS: whoever made it has all rights in it
    if library.setns(space, 0):
        sys.exit(1)
opened = [os.open(f"/proc/sysvipc/{name}", os.O_RDONLY) for name in sys.argv[2:]]
socket.send_fds(socket.socket(fileno=0), [b"!"], opened)
"""


@dataclass(frozen=True)
class IpcObjects:
    """The open files of an IPC name space, in the order of `_COLUMNS`. Ends with `close`."""

    files: tuple[int, ...] = ()

    def read_size_bytes(self) -> int:
        """Return the memory of all objects together."""
        return sum(_sum_sizes(_read_file(file), name) for name, file in zip(_COLUMNS, self.files, strict=False))

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            os.close(file)


def open_ipc_objects(namespace_fd: int) -> IpcObjects:
    """Return the objects of a name space, by a descriptor of it; none where we may not enter it. Blocks."""
    own_socket, child_socket = socket.socketpair()
    with own_socket, child_socket:
        words = [str(get_own_python()), "-I", "-S", "-c", _ENTER, str(namespace_fd), *_COLUMNS]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                words,
                stdin=child_socket.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                pass_fds=(namespace_fd,),
                timeout=_TIMEOUT_S,
                check=False,
            )
        own_socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return IpcObjects(tuple(socket.recv_fds(own_socket, 1, len(_COLUMNS))[1]))
    return IpcObjects()


def _sum_sizes(text: bytes, name: str) -> int:
    """Return the bytes that the lines of such a file tell of, below a line of their columns' names."""
    head, *lines = [line.split() for line in text.splitlines()] or [[]]
    found = 0
    for column, factor in _COLUMNS[name]:
        if column.encode() in head:
            column_index = head.index(column.encode())
            found += factor * sum(int(line[column_index]) for line in lines)
    return found


def _read_file(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb", closefd=False) as stream:
        return stream.read()
