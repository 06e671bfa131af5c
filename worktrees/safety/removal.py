"""Removing what a hostile process may have left: any depth, any name, any permissions, never through a link."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import count, groupby
from pathlib import Path

from worktrees.safety.descriptors import hold_descriptor, list_directory

_DEEP = 200

REMOVED_PREFIX = ".removed-"
"""How the names of directories begin that are being removed."""

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a directory is opened that may have been replaced by a link."""


def remove_entry(parent: int, name: str) -> None:
    """Remove the entry `name`, whatever it is, from the open directory `parent`; a missing one is no error.

    Directories are first moved aside into `parent`, so that neither depth nor path length has a limit, and nothing is
    removed from a file system that somebody has mounted there.

    Raises:
        OSError: something may not be removed, being busy or another user's.
    """
    if _unlink_entry(parent, name):
        return
    token, numbers = secrets.token_hex(8), count()
    aside = (f"{REMOVED_PREFIX}{token}-{number}" for number in numbers)
    pending = [_move_aside(parent, name, parent, next(aside))]
    while pending:
        pending.extend(_dissolve_directory(parent, pending.pop(), aside))


def remove_below(root: Path, paths: Iterable[str]) -> None:
    """Remove the files and directories `paths`, relative to `root`, and the directories that become empty by it.

    Paths that do not exist, or lead through a link, are no error and touch nothing.
    """
    _each_place(root, paths, lambda _directory, _name: True)


def remove_empty_directories(root: Path, paths: Iterable[str]) -> bool:
    """Remove those of the directories `paths` in which there is no file at any depth; whether any was kept.

    All directories in those that are kept are made accessible to their owner.
    """
    kept = []

    def is_doomed(parent: int, name: str) -> bool:
        is_hollow = _is_hollow(parent, name)
        if not is_hollow:
            kept.append(name)
        return is_hollow

    _each_place(root, paths, is_doomed)
    return bool(kept)


def _is_hollow(parent: int, name: str, depth: int = 0) -> bool:
    if depth > _DEEP:
        return True  # nobody keeps anything there
    try:
        directory = open_directory(parent, name)
    except (FileNotFoundError, NotADirectoryError):
        return True
    with hold_descriptor(directory):
        listed = list_directory(directory)
        inner = []
        for child, is_directory in listed:
            if is_directory:
                inner.append(_is_hollow(directory, child, depth + 1))
        return all(inner) and len(inner) == len(listed)


def _each_place(root: Path, paths: Iterable[str], is_doomed: Callable[[int, str], bool]) -> None:
    with open_unfollowed(root) as descriptor:
        for place, group in groupby(sorted(paths, key=_split_path), key=lambda path: _split_path(path)[0]):
            _remove_in(descriptor, place, [_split_path(path)[1] for path in group], is_doomed)


def _split_path(path: str) -> tuple[str, str]:
    parent, _, name = path.rstrip("/").rpartition("/")
    return parent, name


def _remove_in(root: int, place: str, names: list[str], is_doomed: Callable[[int, str], bool]) -> None:
    chain = [root]
    parts = place.split("/") if place else []
    try:
        for part in parts:
            try:
                chain.append(os.open(part, DIRECTORY_FLAGS, dir_fd=chain[-1]))
            except OSError as error:
                if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                    return
                raise
        for name in names:
            if is_doomed(chain[-1], name):
                remove_entry(chain[-1], name)
        with suppress(OSError):  # a directory that still holds something stays, and so do those above it
            for level in range(len(parts) - 1, -1, -1):
                os.rmdir(parts[level], dir_fd=chain[level])
    finally:
        for descriptor in chain[1:]:
            os.close(descriptor)


def _unlink_entry(parent: int, name: str) -> bool:
    """Return True if the entry is gone; False for a directory."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return False
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    return True


def _dissolve_directory(parent: int, name: str, aside: Iterator[str]) -> list[str]:
    """Remove a directory; the directories in it are moved into `parent` and their new names given."""
    inner, moved = [], []
    with hold_descriptor(open_directory(parent, name)) as directory:
        for child, is_directory in list_directory(directory):
            if is_directory or not _unlink_entry(directory, child):
                inner.append(child)
        for child in inner:
            moved.append(_move_aside(directory, child, parent, next(aside)))
    os.rmdir(name, dir_fd=parent)
    return moved


def _move_aside(source: int, name: str, target: int, moved: str) -> str:
    try:
        os.rename(name, moved, src_dir_fd=source, dst_dir_fd=target)
    except PermissionError:
        os.close(open_directory(source, name))  # a directory must be writable to change its parent
        os.rename(name, moved, src_dir_fd=source, dst_dir_fd=target)
    return moved


def open_unfollowed(directory: Path) -> AbstractContextManager[int]:
    """Open a directory that may have been replaced by a link for the length of a block."""
    return hold_descriptor(os.open(directory, DIRECTORY_FLAGS))


def open_root_directory(root: Path) -> int:
    """Open a directory by its path, as `open_directory` does; those above it are nobody's but ours."""
    with open_unfollowed(root.parent) as parent:
        return open_directory(parent, root.name)


def open_directory(parent: int, name: str) -> int:
    """Open a directory in `parent`, making it readable and writable for its owner and no more than a directory."""
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except PermissionError:
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    mode = stat.S_IMODE(os.fstat(directory).st_mode)
    if mode & (stat.S_IRWXU | stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX) != stat.S_IRWXU:
        os.fchmod(directory, (mode | stat.S_IRWXU) & 0o777)
    return directory
