"""Disk usage of the state of one repository, at a price that is bounded however much there is."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

_BLOCK_BYTES = 512
_ENTRIES = 2_000
"""Files and directories that are looked at for each kind of content; a few milliseconds' worth."""


@dataclass(frozen=True)
class StateDiskUsage:
    """Bytes by kind: all runs' journals (with caches beside them), their blobs, outputs of commands, worktrees.

    Where `is_whole` is false there are more files than were looked at, and the numbers are what is there at least.
    """

    journals: int
    blobs: int
    logs: int
    worktrees: int
    is_whole: bool

    @property
    def total(self) -> int:
        """All together."""
        return self.journals + self.blobs + self.logs + self.worktrees

    def as_object(self) -> dict[str, int | bool]:
        """Return the figures for `--json`."""
        return asdict(self) | {"total": self.total}


def measure_disk_usage(state: Path, entries: int = _ENTRIES) -> StateDiskUsage:
    """Measure the use of a repository's state directory.

    It looks at no more than `entries` files and directories of a kind.
    """
    runs = _list_directories(state / "runs")
    journals = _Sum(entries)
    for run in runs:
        journals.add_files(run)
    blobs, logs, worktrees = _Sum(entries), _Sum(entries), _Sum(entries)
    blobs.add_trees([run / "blobs" for run in runs])
    logs.add_trees([state / "logs", *(run / "logs" for run in runs)])
    worktrees.add_trees([state / "worktrees"])
    is_whole = not any(kind.is_cut for kind in (journals, blobs, logs, worktrees))
    return StateDiskUsage(journals.bytes, blobs.bytes, logs.bytes, worktrees.bytes, is_whole)


def measure_tree_bytes(place: Path) -> int:
    """Measure what everything in a directory, or one file, takes on disk. It may take long."""
    total = _Sum(None)
    if place.is_dir() and not place.is_symlink():
        total.add_trees([place])
        return total.bytes
    with suppress(FileNotFoundError):
        return place.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    return 0


class _Sum:
    """Adds up sizes until it has looked at `left` entries (None: all)."""

    def __init__(self, left: int | None) -> None:
        self.bytes = 0
        self.is_cut = False
        self._left = left

    def add_files(self, directory: Path) -> None:
        """Add the files directly in a directory."""
        for entry in self._list_entries(directory):
            if not entry.is_dir(follow_symlinks=False):
                self._add_entry(entry)

    def add_trees(self, tops: Sequence[Path]) -> None:
        """Add everything in directories."""
        pending: list[str | Path] = list(reversed(tops))
        while pending and not self.is_cut:
            for entry in self._list_entries(pending.pop()):
                self._add_entry(entry)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)

    def _add_entry(self, entry: os.DirEntry[str]) -> None:
        with suppress(FileNotFoundError):
            self.bytes += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES

    def _list_entries(self, directory: str | Path) -> Iterator[os.DirEntry[str]]:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(directory) as entries:
            for entry in entries:
                if self._left is not None:
                    if self._left <= 0:
                        self.is_cut = True
                        return
                    self._left -= 1
                yield entry


def _list_directories(place: Path) -> list[Path]:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return [Path(entry.path) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    return []
