"""Making a worktree's directories fit a tree before git writes its files, so that git meets no surprise on the way."""

import os
import stat
from pathlib import Path

from worktrees.layout import Layout, Names
from worktrees.removal import DIRECTORY, open_directory, remove

_IGNORE_RULES = ".gitignore"


def sweep(root: Path, layout: Layout, *, keeps_strangers: bool = False) -> None:
    """Remove what has no place in the tree: other names, directories for files, links for directories.

    What git itself would overlook goes too: repositories, pipes and sockets inside tracked directories. With
    `keeps_strangers` other names stay, except those that would change what git sees: nested repositories, special
    files, and ignore rules that the tree does not have.

    Raises:
        OSError: something cannot be removed.
    """
    descriptor = os.open(root, DIRECTORY)
    try:
        _sweep(descriptor, "", layout, keeps_strangers)
    finally:
        os.close(descriptor)


def _sweep(directory: int, place: str, layout: Layout, keeps_strangers: bool) -> None:
    names = layout[place]
    keeps_strangers = keeps_strangers and not (place and names.is_submodule)
    inner = []
    with os.scandir(directory) as entries:
        listed = list(entries)
    for entry in listed:
        is_directory = entry.is_dir(follow_symlinks=False)
        if is_directory and entry.name in names.directories:
            inner.append(entry.name)
        elif not is_directory and entry.name in names.files:
            continue
        elif not (keeps_strangers and _may_stay(entry, names)) and (place or entry.name != ".git"):
            remove(directory, entry.name)
    for name in inner:
        child = open_directory(directory, name)
        try:
            _sweep(child, f"{place}/{name}" if place else name, layout, keeps_strangers)
        finally:
            os.close(child)


def _may_stay(entry: os.DirEntry[str], names: Names) -> bool:
    misfit = entry.name in names.files or entry.name in names.directories
    return not (misfit or entry.name in {".git", _IGNORE_RULES} or _is_special(entry))


def _is_special(entry: os.DirEntry[str]) -> bool:
    is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    return not (is_plain or entry.is_symlink())


def give(root: Path, layout: Layout, uid: int) -> bool:
    """Make the tree's files and directories, and `.git`, belong to `uid`; whether any did not before."""
    descriptor = os.open(root, DIRECTORY)
    try:
        changed = _give(descriptor, ".", uid)
        return _give_all(descriptor, "", layout, uid) or changed
    finally:
        os.close(descriptor)


def _give_all(directory: int, place: str, layout: Layout, uid: int) -> bool:
    names = layout[place]
    changed = False
    with os.scandir(directory) as entries:
        foreign = [entry.name for entry in entries if entry.stat(follow_symlinks=False).st_uid != uid]
    for name in foreign:
        if name in names.files or name in names.directories or name == ".git":
            changed = _give(directory, name, uid) or changed
    for name in names.directories:
        child = os.open(name, DIRECTORY, dir_fd=directory)
        try:
            changed = _give_all(child, f"{place}/{name}" if place else name, layout, uid) or changed
        finally:
            os.close(child)
    return changed


def _give(directory: int, name: str, uid: int) -> bool:
    found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if found.st_uid == uid:
        return False
    os.chown(name, uid, -1, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        # git takes a file for possibly changed while its mtime is as new as the index: keep that true of the ctime
        os.utime(name, dir_fd=directory, follow_symlinks=False)
    return True
