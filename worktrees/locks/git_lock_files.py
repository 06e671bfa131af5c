"""Lock files of git that a dead process left, and how they are told from those that a living one holds.

Git locks a file by creating `NAME.lock` beside it, and holds most locks for milliseconds. A lock counts as left behind
when it has not changed for a while that we watched it (no clock is asked), and no process that was there when it was
first seen and could hold it is left: a process that started later cannot have made it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from os import walk
from pathlib import Path
from time import monotonic

from anyio import sleep, to_thread

from worktrees.errors import LockedRepository
from worktrees.locks.file_lock import hold_file_lock
from worktrees.locks.lock_holders import (
    LockingProcess,
    RepositoryDirectories,
    find_locking_processes,
    find_repository_directories,
)

_GRACE_S = 1.0
"""So long a lock is watched at least: programs other than git may hold it as well."""
_PATIENCE_S = 10.0
"""So long a living process is waited for."""
_POLL_S = 0.05
_SWEEP_LOCK = "orchestrate-sweep.lock"
"""In the git directory: who holds it may remove locks of dead processes."""
SHARED_LOCK_NAMES = ("packed-refs.lock", "HEAD.lock", "config.lock", "shallow.lock")
"""Locks of files that our git commands share with the user's: they are waited for and named, never removed."""

_Identity = tuple[int, int, int]


@dataclass(frozen=True)
class LockFile:
    """A lock file as it was seen: another one of the same name is another lock."""

    path: Path
    identity: _Identity


@dataclass
class _Watched:
    """The time a lock was first seen, and the processes that could have held it then."""

    since_s: float
    suspects: frozenset[LockingProcess]


@dataclass(frozen=True)
class FoundLocks:
    """The lock files at or below some places, by whether a process was seen that may hold them."""

    dead: tuple[LockFile, ...] = ()
    held: Mapping[LockFile, tuple[LockingProcess, ...]] = field(default_factory=dict)


async def remove_dead_locks(git_dir: Path, places: Sequence[Path]) -> tuple[Path, ...]:
    """Remove the locks at or below `places` that no living process holds, and return them.

    `places` are paths without `.lock`, of our own name spaces only. Takes a second if there is any lock, and no time
    if there is none. Living holders are waited for; locks that come meanwhile are others' and are left alone.

    One process at a time removes any: a lock that was seen to be dead would else be another one, which a living process
    made in the moment after somebody else had removed it.

    Raises:
        LockedRepository: a process still holds one of them after ten seconds, or one cannot be removed.
    """
    if not await to_thread.run_sync(lambda: any(list_lock_files(places))):
        return ()
    async with hold_file_lock(git_dir / _SWEEP_LOCK):
        return await _remove_watched_locks(git_dir, places)


async def _remove_watched_locks(git_dir: Path, places: Sequence[Path]) -> tuple[Path, ...]:
    watch, removed = _Watch(git_dir, places), list[Path]()
    first = frozenset(await to_thread.run_sync(watch.poll_locks))
    until = monotonic() + _PATIENCE_S
    while left := first.intersection(await to_thread.run_sync(watch.poll_locks)):
        stuck = []
        for lock in sorted(left, key=attrgetter("path")):
            if watch.is_dead(lock) and remove_lock(lock):
                removed.append(lock.path)
            else:
                stuck.append(lock)
        if stuck and monotonic() > until:
            raise LockedRepository.for_held_lock(stuck[0].path, watch.list_holders(stuck[0]))
        await sleep(_POLL_S)
    return tuple(removed)


async def find_locks(git_dir: Path, places: Sequence[Path]) -> FoundLocks:
    """Return the locks at or below `places` that last, with who may hold them; takes a second if there are any."""
    watch = _Watch(git_dir, places)
    until = monotonic() + _GRACE_S + 2 * _POLL_S
    while locks := await to_thread.run_sync(watch.poll_locks):
        if monotonic() > until:
            break
        await sleep(_POLL_S)
    dead, held = [], {}
    for lock in locks:
        if watch.is_dead(lock):
            dead.append(lock)
        elif watch.is_lasting(lock):
            held[lock] = tuple(watch.list_holders(lock))
    return FoundLocks(tuple(dead), held)


async def find_repository_locks(git_dir: Path) -> FoundLocks:
    """Return the locks that last on any ref of a repository, and on what `SHARED_LOCK_NAMES` names."""
    places = [git_dir / "refs"]
    for name in SHARED_LOCK_NAMES:
        places.append(git_dir / name.removesuffix(".lock"))
    return await find_locks(git_dir, places)


def get_locked_ref(git_dir: Path, lock: Path) -> str:
    """Return the ref, or other file of the git directory, that a lock file locks."""
    return str(lock.relative_to(git_dir)).removesuffix(".lock")


class _Watch:
    """The locks that were seen at some places since the first look."""

    def __init__(self, git_dir: Path, places: Sequence[Path]) -> None:
        self._git_dir = git_dir
        self._places = tuple(places)
        self._seen: dict[LockFile, _Watched] = {}
        self._alive: frozenset[LockingProcess] = frozenset()
        self._reach: RepositoryDirectories | None = None

    def poll_locks(self) -> list[LockFile]:
        """Return the locks that are there now. Blocks."""
        locks = list(list_lock_files(self._places))
        if not locks:
            return []
        self._reach = self._reach or find_repository_directories(self._git_dir)
        self._alive = frozenset(find_locking_processes(self._reach, {lock.path for lock in locks}))
        now = monotonic()
        self._seen = {lock: self._seen.get(lock) or _Watched(now, self._alive) for lock in locks}
        return locks

    def list_holders(self, lock: LockFile) -> list[LockingProcess]:
        """Return the living processes that may hold a lock."""
        return sorted(self._seen[lock].suspects & self._alive)

    def is_dead(self, lock: LockFile) -> bool:
        """Return True if a lock has been watched for long enough and no living process may hold it."""
        return self.is_lasting(lock) and not self.list_holders(lock)

    def is_lasting(self, lock: LockFile) -> bool:
        """Return True if a lock has been watched for long enough."""
        return monotonic() - self._seen[lock].since_s >= _GRACE_S


def list_lock_files(places: Iterable[Path]) -> Iterator[LockFile]:
    """Yield the lock files at or below `places`, which are paths without `.lock`. Links are not followed."""
    for path in sorted(set(chain.from_iterable(map(_find_locks_at, places)))):
        if identity := _read_identity(path):
            yield LockFile(path, identity)


def _find_locks_at(place: Path) -> Iterator[Path]:
    own = place.with_name(f"{place.name}.lock")
    if own.is_file():
        yield own
    for directory, _, files in walk(place):
        for name in files:
            if name.endswith(".lock"):
                yield Path(directory, name)


def _read_identity(path: Path) -> _Identity | None:
    with suppress(FileNotFoundError):
        found = path.stat(follow_symlinks=False)
        return found.st_dev, found.st_ino, found.st_ctime_ns
    return None


def remove_lock(lock: LockFile) -> bool:
    """Remove a lock file if it is still the one that was seen, and return True if it was.

    Raises:
        LockedRepository: it cannot be removed.
    """
    if _read_identity(lock.path) != lock.identity:
        return False
    try:
        lock.path.unlink(missing_ok=True)
    except OSError as error:
        raise LockedRepository.for_stuck_lock(lock.path, error.strerror or str(error)) from error
    return True
