"""Directories that last as long as the process that made them; the next process clears up after one that was killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.hands.files.directory_trees import create_private_folder, empty_tree, remove_tree
from worktrees.locks.file_lock import try_file_lock, wait_for_file_lock
from worktrees.safety.private_directory import create_private_directory

_LOCK = "lock"
_KEPT = "kept"


@contextmanager
def create_process_folder(home: Path, name: str) -> Iterator[Path]:
    """Create the directory `name` in `home`; it is removed at the end, unless `keep_folder` was called.

    First removes what dead processes have left in `home`. Afterwards nothing of ours is in an empty `home`. Blocks.

    Raises:
        OSError: it cannot be made, or not be removed.
    """
    with _lock_home(home):
        _remove_dead_folders(home)
        folder = create_private_folder(home / name)
        lock_fd = try_file_lock(folder / _LOCK)
    try:
        yield folder
    finally:
        try:
            if folder.is_dir() and not (folder / _KEPT).exists():
                _remove_folder(folder)
        finally:
            if lock_fd is not None:
                os.close(lock_fd)


def keep_folder(folder: Path) -> None:
    """Mark a directory so that only the user removes it. Blocks."""
    (folder / _KEPT).touch()


def _remove_folder(folder: Path) -> None:
    """Remove a directory: most of it under its own lock, which goes last, while nobody looks for dead ones."""
    empty_tree(folder, but=_LOCK)
    with _lock_home(folder.parent):
        remove_tree(folder)
        lock = folder.parent / _LOCK
        if list(folder.parent.iterdir()) == [lock]:
            lock.unlink()


@contextmanager
def _lock_home(home: Path) -> Iterator[None]:
    """Hold the lock of `home` while the block lasts: one process at a time makes or removes directories there."""
    lock_fd = None
    while lock_fd is None:
        create_private_directory(home)
        with suppress(FileNotFoundError):  # whoever was the last in it has just removed it
            lock_fd = wait_for_file_lock(home / _LOCK)
    try:
        yield
    finally:
        os.close(lock_fd)


def _remove_dead_folders(home: Path) -> None:
    for folder in home.iterdir():
        if folder.is_dir() and not (folder / _KEPT).exists():
            lock_fd = try_file_lock(folder / _LOCK)
            if lock_fd is not None:
                remove_tree(folder)
                os.close(lock_fd)
