"""Who works on a run: a lock that dies with its process, and a lease for processes that sleep instead of dying.

The lock keeps two engines apart. A process that was stopped, or whose machine slept, holds its lock for ever; when its
signs of life are older than the lease, another process may take the run over. What keeps the sleeper from writing when
it wakes is not this lock but the journal's fence and the epoch that every landing verifies.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.errors import EnvironmentProblem, RunLocked

LEASE_S = 60.0
_TRIES = 8
_PAUSE_S = 0.03  # whoever asks whether the run is live holds the lock for some microseconds


@dataclass(frozen=True)
class Held:
    """A lock that this process holds."""

    file: IO[str]

    def beat(self) -> None:
        """Give a sign of life."""
        os.utime(self.file.fileno())


@contextmanager
def hold(directory: Path, what: str, lease_s: float) -> Iterator[Held]:
    """Hold the lock of a directory, made if need be. `what` names it in messages.

    Raises:
        RunLocked: another process holds it and has given a sign of life within the lease.
        EnvironmentProblem: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = _take(directory, lease_s)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {directory}: {error.strerror}; choose another state directory with --state DIR"
        ) from error
    if file is None:
        raise RunLocked(f"{what} is being worked on by {_holder(directory)}")
    with file:
        yield Held(file)


def _take(directory: Path, lease_s: float) -> IO[str] | None:
    with (directory / "lock.turn").open("w") as turn:  # one process at a time tries
        fcntl.flock(turn, fcntl.LOCK_EX)
        path = directory / "lock"
        file = path.open("a+")
        for _ in range(_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE_S)
            else:
                return _signed(file)
        age_s = time.time() - os.fstat(file.fileno()).st_mtime
        file.close()
        return _replaced(path) if age_s > lease_s else None


def _replaced(path: Path) -> IO[str]:
    """A lock in the place of one whose holder sleeps; its own stays with it and means nothing any more."""
    new = path.with_name("lock.new").open("w+")
    fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _signed(new)
    Path(new.name).replace(path)
    return new


def _signed(file: IO[str]) -> IO[str]:
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()
    os.utime(file.fileno())
    return file


def _holder(directory: Path) -> str:
    path = directory / "lock"
    age_s = max(time.time() - path.stat().st_mtime, 0)
    return f"{path.read_text() or 'another process'} (last sign of life {age_s:.0f} s ago)"


def is_held(directory: Path) -> bool:
    """Whether a process holds the lock of a directory."""
    try:
        with (directory / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
