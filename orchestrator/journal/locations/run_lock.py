"""The lock of a run: one that dies with its process, and a lease for processes that sleep instead of dying.

The lock keeps two engines apart. A process that was stopped, or whose machine slept, holds its lock for ever; when its
signs of life are older than the lease, another process may take the run over. What keeps the sleeper from writing when
it wakes is not this lock but the journal's fence and the epoch that every landing verifies.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.errors import EnvironmentProblem, RunLocked, RunTakenOver
from worktrees.errors import LockTimeout
from worktrees.locks.file_lock import open_lock_file, wait_for_file_lock
from worktrees.safety.private_directory import create_private_directory

LOCK_LEASE_S = 60.0
TURN_TIMEOUT_S = 30.0
"""How long is waited for those who try to take the lock at this moment; each of them needs less than a second."""

_TRIES = 8
_PAUSE_S = 0.03  # whoever asks whether the run is live holds the lock for some microseconds


@dataclass(frozen=True)
class RunLock:
    """A lock that this process holds, or held until it slept for too long."""

    file: IO[str]
    path: Path

    def require_held(self) -> None:
        """Raise if another process has taken the lock. Blocks.

        Raises:
            RunTakenOver: another lock lies in the place of this one, or none.
        """
        with suppress(FileNotFoundError):
            if os.path.samestat(self.path.stat(follow_symlinks=False), os.fstat(self.file.fileno())):
                return
        raise RunTakenOver(
            f"another process took over run {self.path.parent.name}; this one stops and writes nothing more"
        )

    def write_owner(self, lease_s: float) -> None:
        """Write who holds the lock, and after how many seconds without a sign of life it may be taken over."""
        self.file.seek(0)
        self.file.truncate()
        self.file.write(f"process {os.getpid()} on {socket.gethostname()}\nlease {lease_s:g}\n")
        self.file.flush()

    def record_heartbeat(self) -> None:
        """Give a sign of life."""
        os.utime(self.file.fileno())


@dataclass(frozen=True)
class LockOwner:
    """The holder of a lock, as the lock says."""

    name: str
    age_s: float
    lease_s: float

    @property
    def is_alive(self) -> bool:
        """True while its last sign of life lies within the lease."""
        return self.age_s <= self.lease_s

    def __str__(self) -> str:
        return f"{self.name} (last sign of life {max(self.age_s, 0):.0f} s ago)"


@contextmanager
def hold_run_lock(directory: Path, what: str) -> Iterator[RunLock]:
    """Hold the lock of a directory, made if need be. `what` names it in messages.

    Raises:
        RunLocked: another process holds it and has given a sign of life within its lease.
        EnvironmentProblem: the directory cannot be written.
    """
    try:
        create_private_directory(directory)
        file = _take_lock(directory, what)
    except LockTimeout as error:
        raise RunLocked(f"{what} cannot be taken over: {error}") from error
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {directory}: {error.strerror}; choose another state directory with --state DIR"
        ) from error
    with file:
        held = RunLock(file, directory / "lock")
        held.write_owner(LOCK_LEASE_S)
        yield held


def _take_lock(directory: Path, what: str) -> IO[str]:
    turn = wait_for_file_lock(directory / "lock.turn", patience_s=TURN_TIMEOUT_S)  # one process at a time tries
    try:
        path = directory / "lock"
        file = _open_lock(path)
        for _ in range(_TRIES):
            if _try_lock(file, fcntl.LOCK_EX):
                return file
            time.sleep(_PAUSE_S)
        holder = _read_owner(file)
        file.close()
        if holder.is_alive:
            raise RunLocked(f"{what} is being worked on by {holder}")
        return _replace_lock(path)
    finally:
        os.close(turn)


def _open_lock(path: Path) -> IO[str]:
    return os.fdopen(open_lock_file(path), "r+", encoding="utf-8", errors="replace")


def _replace_lock(path: Path) -> IO[str]:
    """Put a lock in the place of one whose holder sleeps; its own stays with it and means nothing any more."""
    place = path.with_name("lock.new")
    place.unlink(missing_ok=True)
    new = _open_lock(place)
    _try_lock(new, fcntl.LOCK_EX)
    place.replace(path)
    return new


def _try_lock(file: IO[str], how: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, how | fcntl.LOCK_NB)
        return True
    return False


def _read_owner(file: IO[str]) -> LockOwner:
    file.seek(0)
    age_s = time.time() - os.fstat(file.fileno()).st_mtime
    try:
        name, _, lease = file.read().partition("\nlease ")
        return LockOwner(name or "another process", age_s, float(lease.strip() or LOCK_LEASE_S))
    except ValueError:  # it holds what no process wrote; who holds it gives signs of life all the same
        return LockOwner("another process", age_s, LOCK_LEASE_S)


def find_lock_owner(directory: Path) -> LockOwner | None:
    """Return who holds the lock of a directory and has given a sign of life within the lease, or None."""
    if not (directory / "lock").is_file():
        return None
    try:
        with _opened_to_read(directory / "lock") as file:
            found = None if _try_lock(file, fcntl.LOCK_SH) else _read_owner(file)
    except OSError:
        return None
    return found if found and found.is_alive else None


def _opened_to_read(path: Path) -> IO[str]:
    """Open a lock file without making it, nor waiting for who writes where a pipe lies there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    return os.fdopen(descriptor, encoding="utf-8", errors="replace")
