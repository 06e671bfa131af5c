"""Removing what a hostile process may have left: any depth, any name, any permissions, never through a link."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, groupby
from pathlib import Path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a directory is opened that may have been replaced by a link."""


def remove(parent: int, name: str) -> None:
    """Remove the entry `name`, whatever it is, from the open directory `parent`; a missing one is no error.

    Directories found inside are first moved up into `parent`, so that neither depth nor path length has a limit.

    Raises:
        OSError: something may not be removed, being busy or another user's.
    """
    token, numbers = secrets.token_hex(8), count()
    pending = [name]
    while pending:
        current = pending.pop()
        if not _unlink(parent, current):
            aside = (f".removed-{token}-{number}" for number in numbers)
            pending.extend(_dissolve(parent, current, aside))


def remove_below(root: Path, paths: list[str]) -> None:
    """Remove the files and directories `paths`, relative to `root`, and the directories that become empty by it.

    Paths that do not exist, or lead through a link, are no error and touch nothing.
    """
    descriptor = os.open(root, DIRECTORY)
    try:
        for place, group in groupby(sorted(paths, key=_split), key=lambda path: _split(path)[0]):
            _remove_in(descriptor, place, [_split(path)[1] for path in group])
    finally:
        os.close(descriptor)


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rstrip("/").rpartition("/")
    return parent, name


def _remove_in(root: int, place: str, names: list[str]) -> None:
    chain = [root]
    parts = place.split("/") if place else []
    try:
        for part in parts:
            try:
                chain.append(os.open(part, DIRECTORY, dir_fd=chain[-1]))
            except OSError as error:
                if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                    return
                raise
        for name in names:
            remove(chain[-1], name)
        with suppress(OSError):  # a directory that still holds something stays, and so do those above it
            for level in range(len(parts) - 1, -1, -1):
                os.rmdir(parts[level], dir_fd=chain[level])
    finally:
        for descriptor in chain[1:]:
            os.close(descriptor)


def _unlink(parent: int, name: str) -> bool:
    """Whether the entry is gone; False for a directory."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return False
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
    return True


def _dissolve(parent: int, name: str, aside: Iterator[str]) -> list[str]:
    """Remove a directory; the directories in it are moved into `parent` and their new names given."""
    directory = open_directory(parent, name)
    try:
        with os.scandir(directory) as entries:
            listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        inner = [child for child, is_directory in listed if is_directory or not _unlink(directory, child)]
        moved = [_move(directory, child, parent, next(aside)) for child in inner]
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)
    return moved


def _move(source: int, name: str, target: int, moved: str) -> str:
    try:
        os.rename(name, moved, src_dir_fd=source, dst_dir_fd=target)
    except PermissionError:
        os.close(open_directory(source, name))  # a directory must be writable to change its parent
        os.rename(name, moved, src_dir_fd=source, dst_dir_fd=target)
    return moved


def open_directory(parent: int, name: str) -> int:
    """Open a directory in `parent`, making it readable and writable for its owner and no more than a directory."""
    try:
        directory = os.open(name, DIRECTORY, dir_fd=parent)
    except PermissionError:
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        directory = os.open(name, DIRECTORY, dir_fd=parent)
    mode = stat.S_IMODE(os.fstat(directory).st_mode)
    if mode & (stat.S_IRWXU | stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX) != stat.S_IRWXU:
        os.fchmod(directory, (mode | stat.S_IRWXU) & 0o777)
    return directory
