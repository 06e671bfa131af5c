"""The size of a command's writable directories, measured only when the file system has lost a notable part."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from orchestrator.hands.files.safe_open import open_beneath
from worktrees.safety.descriptors import hold_descriptor

_BLOCK_BYTES = 512
_NOTABLE = 1 / 8
_REST = 20
"""After a walk, rest this many times as long as it took."""
_LONGEST_S = 15.0
"""Walk at least so often: what others free at the same time hides what is written here."""


@dataclass(frozen=True)
class DiskUsage:
    """Bytes as allocated on disk, and files and directories; `is_all` unless something could not be measured."""

    size_bytes: int
    files: int
    is_all: bool = True


@dataclass
class DiskUsageMeter:
    """Measures the writable directories of a command, all on one file system.

    Only notable losses of free space, compared with `limit_bytes` and `limit_files`, lead to a walk. `check_cancelled`
    is called for each directory while walking, and ends the walk by raising. `measure_unlinked` returns how many bytes
    on a device are in files that processes keep without a name, and whether that is all.
    """

    folders: tuple[Path, ...]
    limit_bytes: int | None
    limit_files: int
    check_cancelled: Callable[[], None]
    measure_unlinked: Callable[[int], tuple[int, bool]] = lambda _: (0, True)
    _initial_space: tuple[int, int] = field(init=False)
    _free_space: tuple[int, int] = field(init=False)
    _walked_at: float = field(init=False, default_factory=time.monotonic)
    _walk_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._initial_space = self._free_space = self._get_free_space()

    def measure_if_shrunk(self) -> DiskUsage | None:
        """Return the usage of the directories; None where nothing suggests that they have grown. Blocks."""
        rested_s = time.monotonic() - self._walked_at
        if rested_s < _REST * self._walk_s or not (self._has_shrunk() or rested_s > _LONGEST_S):
            return None
        started_at = time.monotonic()
        usage = measure_folders(self.folders, self.check_cancelled)
        unlinked, is_all = self.measure_unlinked(self.folders[0].stat().st_dev)
        usage = replace(usage, size_bytes=usage.size_bytes + unlinked, is_all=usage.is_all and is_all)
        self._free_space, self._walked_at = self._get_free_space(), time.monotonic()
        self._walk_s = self._walked_at - started_at
        return usage if usage.is_all else self._assume_worst(usage)

    def _assume_worst(self, usage: DiskUsage) -> DiskUsage:
        """Return the worst case: all that the file system lost meanwhile lies where we cannot look."""
        size, files = (then - now for then, now in zip(self._initial_space, self._free_space, strict=True))
        return DiskUsage(max(usage.size_bytes, size), max(usage.files, files))

    def _has_shrunk(self) -> bool:
        size, files = self._get_free_space()
        notable_bytes = (self.limit_bytes or size) * _NOTABLE
        return self._free_space[0] - size > notable_bytes or self._free_space[1] - files > self.limit_files * _NOTABLE

    def _get_free_space(self) -> tuple[int, int]:
        found = os.statvfs(self.folders[0])
        return found.f_bavail * found.f_frsize, found.f_ffree


def measure_folders(folders: tuple[Path, ...], check: Callable[[], None]) -> DiskUsage:
    """Count everything below, a file of several names once, without following links."""
    size, files, is_all = 0, 0, True
    inodes: set[int] = set()
    for status in chain.from_iterable(_iterate_stats(folder, check) for folder in folders):
        if status is None:
            is_all = False
        elif status.st_nlink == 1 or status.st_ino not in inodes:
            if status.st_nlink > 1:
                inodes.add(status.st_ino)
            size += status.st_blocks * _BLOCK_BYTES
            files += 1
    return DiskUsage(size, files, is_all)


def _iterate_stats(folder: Path, check: Callable[[], None]) -> Iterator[os.stat_result | None]:
    """Yield the stat of everything below; None for a directory that is closed to us or too deep.

    The tree may change all the while.
    """
    pending = [PurePosixPath(".")]
    with hold_descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as base:
        while pending:
            check()
            inner = pending.pop()
            try:
                for entry in _scan_folder(base, inner):
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(inner / entry.name)
                    with contextlib.suppress(FileNotFoundError):  # it went meanwhile
                        yield entry.stat(follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                yield None


def _scan_folder(base: int, folder: PurePosixPath) -> Iterator[os.DirEntry[str]]:
    flags = os.O_RDONLY | os.O_DIRECTORY
    with hold_descriptor(open_beneath(base, folder, flags)) as descriptor, os.scandir(descriptor) as entries:
        yield from entries
