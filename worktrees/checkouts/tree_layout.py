"""The layout of a worktree: the names that each directory of a tree holds, and which of them are known to be there."""

import os
import time
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from worktrees.diffs.tree_changes import SUBMODULE, TreeChange
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.safety.path_rules import MAX_PATH_DEPTH

_KEPT = 4
_SETTLED_NS = 100_000_000


class DirectoryNames(NamedTuple):
    """The entries of one directory; a submodule counts as a directory that holds nothing."""

    directories: frozenset[str]
    files: frozenset[str]

    @property
    def is_submodule(self) -> bool:
        """True where a submodule would be, as git trees have no other empty directories."""
        return not (self.directories or self.files)


TreeLayout = Mapping[str, DirectoryNames]
"""Each directory of a tree, by its path, the root being the empty one. Undecodable bytes are lone surrogates."""


def list_files(layout: TreeLayout) -> list[str]:
    """Return the paths of all files of a tree."""
    found = []
    for folder, names in layout.items():
        for name in names.files:
            found.append(f"{folder}/{name}" if folder else name)
    return found


def list_paths_beside(root: Path, layout: TreeLayout, limit: int) -> tuple[str, ...]:
    """Return the first paths below `root` that belong to no file of a tree, directories included. Blocks.

    No link is followed. What cannot be looked into counts as one of them, what is in a submodule's place does not.
    """
    found: list[str] = []
    waiting = [""]
    while waiting and len(found) < limit:
        place = waiting.pop()
        names = layout[place]
        try:
            entries = sorted(os.scandir(root / place), key=attrgetter("name"))
        except OSError:
            found.append(place)
            continue
        for entry in entries:
            path = f"{place}/{entry.name}".removeprefix("/")
            if entry.name in names.directories and entry.is_dir(follow_symlinks=False):
                if not layout[path].is_submodule:
                    waiting.append(path)
            elif entry.name not in names.files and path != ".git":
                found.append(path)
    return tuple(found[:limit])


class LayoutCache:
    """The layouts of the trees used last; most worktrees of a run hold one of few trees."""

    def __init__(self) -> None:
        self._kept: dict[str, TreeLayout] = {}

    async def load_layout(
        self, git: Git, tree: str, near: str | None = None, delta: Sequence[TreeChange] = ()
    ) -> TreeLayout:
        """Return the layout of a tree: remembered, made from that of the tree `near` by `delta`, or read.

        Raises:
            GitError: there is no such tree, or it is too deep.
        """
        layout = self._kept.pop(tree, None)
        if layout is None:
            layout = await self._make_layout(git, tree, near, delta)
        self._kept[tree] = layout
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return layout

    async def _make_layout(self, git: Git, tree: str, near: str | None, delta: Sequence[TreeChange]) -> TreeLayout:
        if near in self._kept:
            layout = patch_layout(self._kept[near], delta)
        else:
            layout = _parse_listing((await git.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree)).text)
        if any(place.count("/") >= MAX_PATH_DEPTH for place in layout):
            raise GitError(
                f"the tree {tree} has files more than {MAX_PATH_DEPTH} directories deep, which is not supported"
            )
        return layout


def _parse_listing(listing: str) -> TreeLayout:
    directories: dict[str, set[str]] = {"": set()}
    files: dict[str, set[str]] = {"": set()}
    for record in listing.split("\0"):
        meta, _, path = record.partition("\t")
        if not path:
            continue
        parent, _, name = path.rpartition("/")
        if meta.startswith(("040000", SUBMODULE)):
            directories[parent].add(name)
            directories[path], files[path] = set(), set()
        else:
            files[parent].add(name)
    return {place: DirectoryNames(frozenset(directories[place]), frozenset(files[place])) for place in directories}


def patch_layout(layout: TreeLayout, delta: Sequence[TreeChange]) -> TreeLayout:
    """Return the layout of the tree that `delta` makes of another; directories it does not touch are shared."""
    made = dict(layout)
    for change in delta:
        if change.old_mode is not None:
            _remove_entry(made, change.path, is_directory=change.old_mode == SUBMODULE)
    for change in delta:
        if change.new_mode is not None:
            _add_entry(made, change.path, is_directory=change.new_mode == SUBMODULE)
    return made


def _remove_entry(layout: dict[str, DirectoryNames], path: str, *, is_directory: bool) -> None:
    """Remove an entry, and the directories above it that held nothing else."""
    parent, _, name = path.rpartition("/")
    names = layout[parent]
    if is_directory:
        del layout[path]
        layout[parent] = DirectoryNames(names.directories - {name}, names.files)
    else:
        layout[parent] = DirectoryNames(names.directories, names.files - {name})
    if parent and layout[parent].is_submodule:
        _remove_entry(layout, parent, is_directory=True)


def _add_entry(layout: dict[str, DirectoryNames], path: str, *, is_directory: bool) -> None:
    """Add an entry, and the directories above it that were not there."""
    parent, _, name = path.rpartition("/")
    if parent and parent not in layout:
        _add_entry(layout, parent, is_directory=True)
    names = layout[parent]
    if is_directory:
        layout[path] = DirectoryNames(frozenset(), frozenset())
        layout[parent] = DirectoryNames(names.directories | {name}, names.files)
    else:
        layout[parent] = DirectoryNames(names.directories, names.files | {name})


class VerifiedDirectories:
    """Directories of one worktree that were found in order, by inode and the time of their last change.

    Nobody but root can set that time back. A directory that has changed just now is not noted: within one tick of
    the file system's clock a further change could not be told.
    """

    def __init__(self) -> None:
        self._marks: dict[str, tuple[int, int, DirectoryNames]] = {}

    def record_directory(self, place: str, directory: int, names: DirectoryNames) -> None:
        """Note that the open directory holds exactly `names`."""
        found = os.fstat(directory)
        if found.st_ctime_ns < time.time_ns() - _SETTLED_NS:
            self._marks[place] = (found.st_ino, found.st_ctime_ns, names)
        else:
            self._marks.pop(place, None)

    def is_unchanged(self, place: str, directory: int, names: DirectoryNames) -> bool:
        """Return True if the open directory held exactly `names` when it was noted, and has not changed since."""
        mark = self._marks.get(place)
        if mark is None:
            return False
        found = os.fstat(directory)
        return mark == (found.st_ino, found.st_ctime_ns, names)

    def forget_all(self) -> None:
        """Take nothing for granted any more."""
        self._marks.clear()
