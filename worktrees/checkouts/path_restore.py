"""Bringing some paths of a worktree in order, where it is known which ones, without a look at the others."""

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from worktrees.checkouts.change_reports import ReportedChanges
from worktrees.checkouts.cleanup import chown_entry
from worktrees.checkouts.tree_layout import TreeLayout
from worktrees.diffs.tree_changes import SUBMODULE, TreeChange
from worktrees.safety.removal import open_directory, open_root_directory, remove_entry


def is_restorable(layout: TreeLayout, reported: ReportedChanges, delta: Sequence[TreeChange]) -> bool:
    """Return False if only a walk through the whole checkout can tell: a directory of the tree has been replaced."""
    if not reported.names.isdisjoint(layout):
        return False
    return all(SUBMODULE not in (change.old_mode, change.new_mode) for change in delta)


def clear_paths(root: Path, layout: TreeLayout, paths: Iterable[str]) -> set[str]:
    """Remove what lies at these paths, but for directories of the tree, which are made accessible to their owner.

    Returns:
        The files of the tree among them: none of these is there any more.

    Raises:
        OSError: something cannot be removed.
    """
    files: set[str] = set()
    entries: dict[str, set[str]] = {}
    for path in paths:
        folder, name = _find_entry(layout, path)
        entries.setdefault(folder, set()).add(name)
        if name in layout[folder].files:
            files.add(f"{folder}/{name}".lstrip("/"))
    for folder, directory in open_folders(root, entries):
        for name in entries[folder] - ({""} if folder else {"", ".git"}):
            remove_entry(directory, name)
    return files


def _find_entry(layout: TreeLayout, path: str) -> tuple[str, str]:
    """Return the nearest directory of the tree, and the name in it that leads to the path; none for itself."""
    folder, name = path, ""
    while folder not in layout:
        folder, _, name = folder.rpartition("/")
    return folder, name


def group_by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """Return the names of files by the directories that they lie in."""
    grouped: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        grouped.setdefault(folder, set()).add(name)
    return grouped


def open_folders(
    root: Path, folders: Iterable[str], *, makes_missing: bool = False, owner: int | None = None
) -> Iterator[tuple[str, int]]:
    """Yield those directories of the tree that are there, open, each reached step by step.

    What is no directory where one belongs is removed. With `makes_missing` all are there: those that are not are made.
    All that are opened belong to `owner` then, if there is one.

    Raises:
        OSError: one of them cannot be opened.
    """
    opened = [open_root_directory(root)]
    names: list[str] = []
    try:
        for parts in sorted(folder.split("/") for folder in folders):
            wanted = list(filter(None, parts))
            while names != wanted[: len(names)]:
                names.pop()
                os.close(opened.pop())
            for name in wanted[len(names) :]:
                below = _open_or_remove(opened[-1], name)
                if below is None and makes_missing:
                    os.mkdir(name, dir_fd=opened[-1])
                    below = open_directory(opened[-1], name)
                if below is None:
                    break
                opened.append(below)
                names.append(name)
                if owner is not None and os.fstat(below).st_uid != owner:
                    os.fchown(below, owner, -1)
            if names == wanted:
                yield "/".join(wanted), opened[-1]
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_or_remove(parent: int, name: str) -> int | None:
    """Open a directory; None if there is none, and what stands in its place is removed then."""
    try:
        return open_directory(parent, name)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
    remove_entry(parent, name)
    return None


def chown_paths(root: Path, paths: Collection[str], uid: int) -> None:
    """Make files of a tree that were written, and the directories that they lie in, belong to `uid`.

    Raises:
        OSError: one of them may not be changed.
    """
    chowned = set(paths)
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in chowned:
            chowned.add(folder)
            folder = folder.rpartition("/")[0]
    entries = group_by_folder(chowned)
    for folder, directory in open_folders(root, entries):
        for name in entries[folder]:
            chown_entry(directory, name, uid)
