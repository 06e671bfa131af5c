"""A lock between processes that ends with the process that holds it.

Lock files are their owner's alone, since whoever can open one can hold it. Nobody waits in silence or for ever: what is
waited for is logged, and after some time it is an error that names it.
"""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio import sleep

from worktrees.errors import LockTimeout
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.path_rules import escape_path

LOCK_TIMEOUT_S = 600.0
"""How long a lock is waited for that others hold while they remove or make many files."""

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
_SILENCE_S = 1.0
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def hold_file_lock(path: Path, *, patience_s: float = LOCK_TIMEOUT_S) -> AsyncIterator[int]:
    """Hold the lock file `path`, created if need be, for the length of the block; gives its descriptor.

    Tasks of one process exclude each other as processes do. Waiting can be cancelled at any time.

    Raises:
        LockTimeout: others held it for `patience_s`.
        OSError: it cannot be made, or something else lies there.
    """
    waiting = _Waiting(path, patience_s)
    descriptor = try_file_lock(path)
    while descriptor is None:
        await sleep(waiting.next_pause())
        descriptor = try_file_lock(path)
    with hold_descriptor(descriptor):
        yield descriptor


def try_file_lock(path: Path) -> int | None:
    """Return the descriptor of the locked file `path`, to be closed to unlock it; None while somebody else holds it.

    Raises:
        OSError: it cannot be made, or something else lies there.
    """
    return _try_lock(path, fcntl.LOCK_EX)


def wait_for_file_lock(path: Path, *, is_shared: bool = False, patience_s: float = LOCK_TIMEOUT_S) -> int:
    """Return the descriptor of the locked file `path`, to be closed to unlock it. Blocks while somebody else holds it.

    A shared lock is held by many at a time, and by nobody who wants it alone.

    Raises:
        LockTimeout: others held it for `patience_s`.
        OSError: it cannot be made, or something else lies there.
    """
    waiting = _Waiting(path, patience_s)
    while (descriptor := _try_lock(path, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)) is None:
        time.sleep(waiting.next_pause())
    return descriptor


def open_lock_file(path: Path) -> int:
    """Open a file to be locked, made if need be; only its owner can open it. Nothing else at its place is touched.

    Raises:
        OSError: it cannot be made, or a link, a pipe or another user's file lies there.
    """
    try:
        descriptor = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
            raise _not_ours(path) from error
        raise
    try:
        _require_own_file(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def find_lock_holder(path: Path) -> int | None:
    """Return the id of a process that holds a lock on `path`; None where the kernel shows none."""
    with suppress(OSError):
        found = path.stat(follow_symlinks=False)
        place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        for pid in _describe_holders(place):
            return pid
    return None


def _describe_holders(place: str) -> Iterator[int]:
    """Yield who holds locks on an inode; lines of those who wait have an arrow after their number."""
    for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5] == place and int(words[4]) > 0:
            yield int(words[4])


def _require_own_file(path: Path, descriptor: int) -> None:
    """Close an open lock file to everybody else. Raises OSError if it is none of ours."""
    found = os.fstat(descriptor)
    is_ours = os.geteuid() in {0, found.st_uid}
    if not (is_ours and stat.S_ISREG(found.st_mode)) or found.st_nlink > 1:
        raise _not_ours(path)
    if stat.S_IMODE(found.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)


def _not_ours(path: Path) -> OSError:
    told = "Something else lies where a lock of ours should: a link, a pipe or another user's file; remove it"
    return OSError(errno.EPERM, told, str(path))


def _try_lock(path: Path, how: int) -> int | None:
    descriptor = open_lock_file(path)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        if _is_at(path, descriptor):  # whoever held it before may have removed the file
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_at(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    return False


@dataclass
class _Waiting:
    """One wait for a lock: said once after a second unless this process holds it, given up after `patience_s`."""

    path: Path
    patience_s: float
    began: float = field(default_factory=time.monotonic)
    pause_s: float = _FIRST_PAUSE_S
    is_said: bool = False

    def next_pause(self) -> float:
        """Return how many seconds to wait before the next try.

        Raises:
            LockTimeout: it has been waited for long enough.
        """
        waited_s = time.monotonic() - self.began
        if waited_s > self.patience_s:
            named = self._name_lock(find_lock_holder(self.path))
            raise LockTimeout(
                f"{named} is still held after {waited_s:.0f} s: wait for that process or end it, then try again"
            )
        if waited_s > _SILENCE_S and not self.is_said:
            holder = find_lock_holder(self.path)
            self.is_said = holder != os.getpid()
            if self.is_said:
                _LOG.warning("waiting for %s, for at most %.0f s", self._name_lock(holder), self.patience_s)
        self.pause_s = min(self.pause_s * 1.5, _LONGEST_PAUSE_S)
        return self.pause_s

    def _name_lock(self, holder: int | None) -> str:
        by = f"process {holder}" if holder else "another process"
        return f"the lock {escape_path(str(self.path))} of {by}"
