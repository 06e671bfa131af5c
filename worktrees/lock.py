"""A lock between processes that ends with the process that holds it."""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from anyio import sleep

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


@asynccontextmanager
async def file_lock(path: Path) -> AsyncIterator[int]:
    """Hold the lock file `path`, created if need be, for the length of the block; gives its descriptor.

    Tasks of one process exclude each other as processes do. Waiting can be cancelled at any time.
    """
    pause_s = _FIRST_PAUSE_S
    while (descriptor := try_lock(path)) is None:
        await sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(path: Path) -> int | None:
    """The descriptor of the locked file `path`, to be closed to unlock it; None while somebody else holds it."""
    return _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def wait_for_lock(path: Path, *, is_shared: bool = False) -> int:
    """The descriptor of the locked file `path`, to be closed to unlock it. Blocks until nobody else holds it.

    A shared lock is held by many at a time, and by nobody who wants it alone.
    """
    while (descriptor := _locked(path, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)) is None:
        pass
    return descriptor


def _locked(path: Path, how: int) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, how)
        if _is_at(path, descriptor):  # whoever held it before may have removed the file
            return descriptor
    os.close(descriptor)
    return None


def _is_at(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    return False
