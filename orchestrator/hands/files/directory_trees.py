"""Whole directories of our own: handing one to the sandbox's user, removing one that a command has had its way with."""

import os
import secrets
import stat
from pathlib import Path

from worktrees.safety.descriptors import hold_descriptor, list_directory
from worktrees.safety.private_directory import create_private_directory
from worktrees.safety.removal import REMOVED_PREFIX, open_root_directory, remove_entry


def set_tree_owner(directory: Path, owner: int | None) -> None:
    """Make `owner` own a directory that only we have filled, and everything in it; None leaves it ours."""
    if owner is None:
        return
    for folder, folders, files in os.walk(directory):
        for name in (".", *folders, *files):
            os.lchown(Path(folder) / name, owner, owner)


def create_private_folder(directory: Path, owner: int | None = None) -> Path:
    """Create an empty directory that only its owner may enter; return it."""
    create_private_directory(directory.parent)
    directory.mkdir(mode=0o700)
    set_tree_owner(directory, owner)
    return directory


def remove_tree(directory: Path) -> None:
    """Remove a directory of any depth, even if it is unreadable or full of links that lead out.

    Nothing may be at work in it any more. A missing one is no error, and neither is something else at its place.

    Raises:
        OSError: something in it may not be removed.
    """
    empty_tree(directory)
    if directory.is_dir() and not directory.is_symlink():
        directory.rmdir()


def empty_tree(directory: Path, but: str = "") -> None:
    """Remove everything in a directory, as `remove_tree` does, except the entry `but`.

    Raises:
        OSError: something in it may not be removed.
    """
    if directory.is_symlink() or not directory.is_dir():
        return
    with hold_descriptor(open_root_directory(directory)) as inside:
        for name, _ in list_directory(inside):
            if name != but:
                remove_entry(inside, name)


def clear_set_id_bits(directory: Path) -> None:
    """Remove the set-user-id and set-group-id bits of all files below a directory that nobody uses any more.

    Raises:
        OSError: a mode cannot be read or changed.
    """
    for folder, _, files in os.walk(directory):
        for path in (Path(folder), *(Path(folder) / name for name in files)):
            mode = path.lstat().st_mode
            if mode & (stat.S_ISUID | stat.S_ISGID) and not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


def claim_tree(directory: Path) -> Path:
    """Move a directory aside, so that only one of several processes removes it; return its new path.

    Raises:
        FileNotFoundError: it is gone, as somebody else was first.
        OSError: it may not be moved.
    """
    return directory.rename(directory.with_name(f"{REMOVED_PREFIX}{secrets.token_hex(8)}"))
