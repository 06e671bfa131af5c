"""Making a worktree's directories fit a tree before git writes its files, so that git meets no surprise on the way."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from worktrees.checkouts.tree_layout import DirectoryNames, TreeLayout, VerifiedDirectories
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.removal import open_directory, open_root_directory, open_unfollowed, remove_entry

_IGNORE_RULES = ".gitignore"


def remove_misfits(root: Path, layout: TreeLayout, seen: VerifiedDirectories, *, keeps_strangers: bool = False) -> None:
    """Remove what has no place in the tree: other names, directories for files, links for directories.

    What git itself would overlook goes too: repositories, pipes and sockets inside tracked directories. With
    `keeps_strangers` other names stay, except those that would change what git sees: nested repositories, special
    files, and ignore rules that the tree does not have. Directories that `seen` knows are not listed. The root and all
    directories of the tree are made accessible to their owner.

    Raises:
        OSError: something cannot be removed.
    """
    with hold_descriptor(open_root_directory(root)) as descriptor:
        _clean_directory(descriptor, "", layout, seen, keeps_strangers)


def _clean_directory(
    directory: int, place: str, layout: TreeLayout, seen: VerifiedDirectories, keeps_strangers: bool
) -> None:
    names = layout[place]
    inner: Iterable[str] = names.directories
    if not seen.is_unchanged(place, directory, names):
        inner = _clean_entry(directory, place, names, keeps_strangers and not (place and names.is_submodule))
        if not keeps_strangers:
            seen.record_directory(place, directory, names)
    for name in inner:
        try:
            child = open_directory(directory, name)
        except FileNotFoundError:
            continue  # git will make it
        with hold_descriptor(child):
            _clean_directory(child, f"{place}/{name}" if place else name, layout, seen, keeps_strangers)


def _clean_entry(directory: int, place: str, names: DirectoryNames, keeps_strangers: bool) -> list[str]:
    """Remove misfits from one directory; gives the directories in it that belong there."""
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
            remove_entry(directory, entry.name)
    return inner


def _may_stay(entry: os.DirEntry[str], names: DirectoryNames) -> bool:
    misfit = entry.name in names.files or entry.name in names.directories
    return not (misfit or entry.name in {".git", _IGNORE_RULES} or _is_special(entry))


def _is_special(entry: os.DirEntry[str]) -> bool:
    is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    return not (is_plain or entry.is_symlink())


def chown_top_directory(root: Path, uid: int) -> None:
    """Make a worktree's directory itself and its `.git` belong to `uid`."""
    with open_unfollowed(root) as descriptor:
        chown_entry(descriptor, ".", uid)
        chown_entry(descriptor, ".git", uid)


def chown_tree(root: Path, layout: TreeLayout, seen: VerifiedDirectories, uid: int) -> bool:
    """Make the tree's files and directories belong to `uid`; whether any file did not before.

    Directories that `seen` knows have got no new files.
    """
    with open_unfollowed(root) as descriptor:
        return _give_all(descriptor, "", layout, seen, uid)


def _give_all(directory: int, place: str, layout: TreeLayout, seen: VerifiedDirectories, uid: int) -> bool:
    names = layout[place]
    foreign = [] if seen.is_unchanged(place, directory, names) else _list_foreign_files(directory, names, uid)
    for name in foreign:
        chown_entry(directory, name, uid)
    changed = not names.files.isdisjoint(foreign)
    for name in names.directories:
        with hold_descriptor(open_directory(directory, name)) as child:
            changed = _give_all(child, f"{place}/{name}" if place else name, layout, seen, uid) or changed
    return changed


def _list_foreign_files(directory: int, names: DirectoryNames, uid: int) -> list[str]:
    with os.scandir(directory) as entries:
        ours = []
        for entry in entries:
            if entry.name in names.files or entry.name in names.directories:
                ours.append(entry)
        return [entry.name for entry in ours if entry.stat(follow_symlinks=False).st_uid != uid]


def chown_entry(directory: int, name: str, uid: int) -> None:
    """Make an entry of an open directory belong to `uid`; no link is followed."""
    found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if found.st_uid == uid:
        return
    os.chown(name, uid, -1, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        # git takes a file for possibly changed while its mtime is as new as the index: keep that true of the ctime
        os.utime(name, dir_fd=directory, follow_symlinks=False)
