"""What the writable directories of a command hold, looked at only when the file system has shrunk by a notable part."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK_BYTES = 512
_NOTABLE = 1 / 8
_REST = 20
"""After a walk, rest this many times as long as it took."""
_LONGEST_S = 15.0
"""Walk at least so often: what others free at the same time hides what is written here."""


@dataclass(frozen=True)
class Held:
    """Bytes as allocated on disk, and files and directories."""

    size_bytes: int
    files: int


@dataclass
class Disk:
    """The directories of a command, all on one file system; `limit_bytes` and `limit_files` are what is looked out for.

    `check` is called for each directory while walking, and ends the walk by raising.
    """

    folders: tuple[Path, ...]
    limit_bytes: int | None
    limit_files: int
    check: Callable[[], None]
    _free: tuple[int, int] = field(init=False)
    _walked: float = field(init=False, default_factory=time.monotonic)
    _took_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._free = self._room()

    def look(self) -> Held | None:
        """What they hold, or None where nothing suggests that it is worth a walk. Blocks."""
        rested_s = time.monotonic() - self._walked
        if rested_s < _REST * self._took_s or not (self._has_shrunk() or rested_s > _LONGEST_S):
            return None
        began = time.monotonic()
        held = hold(self.folders, self.check)
        self._free, self._walked = self._room(), time.monotonic()
        self._took_s = self._walked - began
        return held

    def _has_shrunk(self) -> bool:
        size, files = self._room()
        notable_bytes = (self.limit_bytes or size) * _NOTABLE
        return self._free[0] - size > notable_bytes or self._free[1] - files > self.limit_files * _NOTABLE

    def _room(self) -> tuple[int, int]:
        found = os.statvfs(self.folders[0])
        return found.f_bavail * found.f_frsize, found.f_ffree


def hold(folders: tuple[Path, ...], check: Callable[[], None]) -> Held:
    """Count everything below, a file of several names once, without following links."""
    size, files, seen = 0, 0, set()
    for found in (stat for folder in folders for stat in _walk(folder, check)):
        if found.st_nlink > 1 and found.st_ino in seen:
            continue
        if found.st_nlink > 1:
            seen.add(found.st_ino)
        size, files = size + found.st_blocks * _BLOCK_BYTES, files + 1
    return Held(size, files)


def _walk(folder: Path, check: Callable[[], None]) -> Iterator[os.stat_result]:
    todo = [str(folder)]
    while todo:
        check()
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    yield entry.stat(follow_symlinks=False)
        except OSError:
            continue  # it went away, or was made unreadable for us: only a normal user meets that, in what is theirs
