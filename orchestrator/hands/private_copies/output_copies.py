"""Copies of borrowed files and built directories in a workspace, so that a build may replace them.

While nothing runs they lie in a directory beside the workspace, so that whoever looks at its content, or takes a
snapshot of it, finds only what is its own.
"""

import os
import shutil
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from orchestrator.errors import ToolRefused
from orchestrator.hands.files.directory_trees import create_private_folder, remove_tree, set_tree_owner
from orchestrator.hands.files.safe_open import open_beneath
from orchestrator.hands.files.workspace_files import create_folders, open_root_folder
from worktrees.safety.descriptors import hold_descriptor

MOST_COPIED_BYTES = 64 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def is_small(path: Path, limit_bytes: int = MOST_COPIED_BYTES) -> bool:
    """Return True if a file, or all files below a directory, take up at most `limit_bytes`. Blocks."""
    if not path.is_dir():
        return path.stat().st_size <= limit_bytes
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            total += Path(folder, name).lstat().st_size
            if total > limit_bytes:
                return False
    return True


@dataclass
class OutputCopies:
    """The copies of one workspace, whose top is `root`.

    Attributes:
        root: top of the workspace.
        aside: a directory of its own on the same file system, where the copies lie while nothing runs.
        originals: names, each with the directory below which its original lies; that is only ever read.
        owner: the user that copies belong to; None for ourselves.
        left_out: files that are not copied.
    """

    root: Path
    aside: Path
    originals: Mapping[str, Path]
    owner: int | None
    left_out: Collection[Path] = ()
    _made: set[str] = field(default_factory=set)
    _placed: set[str] = field(default_factory=set)

    def place_copies(self) -> None:
        """Put every copy to its place, made now if it never was. Blocks.

        What the workspace's own tree has at a place stays, what a command has removed stays away, and what the user
        has removed meanwhile is no more.

        Raises:
            OSError: something cannot be copied.
        """
        for name, base in self.originals.items():
            if name not in self._made and (base / name).exists():
                self._made.add(name)
                self._make_copy(name, base / name)
            if name not in self._placed and os.path.lexists(self.aside / name) and self._move_in(PurePosixPath(name)):
                self._placed.add(name)

    def take_away(self) -> None:
        """Move every copy out of the workspace, as commands have left it. Blocks.

        Raises:
            OSError: something cannot be moved.
        """
        for name in sorted(self._placed):
            self._move_out(PurePosixPath(name))
        self._placed.clear()

    def forget_copies(self) -> None:
        """Remove all copies, which are made again before the next command. Blocks."""
        self.take_away()
        remove_tree(self.aside)
        self._made.clear()

    def find_root(self, path: PurePosixPath) -> Path | None:
        """Return the directory to read a copied file below; None if the path belongs to no copy, or lies in its place.

        A copy that was not made yet is read where its original lies.
        """
        for name, base in self.originals.items():
            if path.is_relative_to(name) and name not in self._placed:
                return self.aside if name in self._made else base
        return None

    def has_copy(self, path: PurePosixPath) -> bool:
        """Return True if a path belongs to a copy."""
        return any(path.is_relative_to(name) for name in self.originals)

    def _make_copy(self, name: str, source: Path) -> None:
        target = self.aside / name
        if not self.aside.exists():
            create_private_folder(self.aside)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=self._list_left_out)
            set_tree_owner(target, self.owner)
            return
        shutil.copy2(source, target)
        if self.owner is not None:
            os.chown(target, self.owner, self.owner)

    def _list_left_out(self, folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder, name) in self.left_out]

    def _move_in(self, place: PurePosixPath) -> bool:
        """Move a copy to its place; return False where something stands in the way."""
        try:
            create_folders(self.root, place.parent, self.owner)
        except ToolRefused:
            return False  # a link or a file of the tree's own
        with open_root_folder(self.root) as base:
            parent = open_beneath(base, place.parent, _FOLDER)
        with hold_descriptor(parent):
            if _has_entry(parent, place.name):
                return False
            os.rename(self.aside / place, place.name, dst_dir_fd=parent)
        return True

    def _move_out(self, place: PurePosixPath) -> None:
        try:
            with open_root_folder(self.root) as base:
                parent = open_beneath(base, place.parent, _FOLDER)
        except OSError:
            return  # a command removed or replaced what it lay in
        with hold_descriptor(parent):
            if _has_entry(parent, place.name):
                _allow_moving(parent, place.name)
                os.rename(place.name, self.aside / place, src_dir_fd=parent)


def _has_entry(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _allow_moving(parent: int, name: str) -> None:
    """Let a directory be moved that a command has closed to its own user."""
    if os.geteuid() == 0 or not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return
    with hold_descriptor(open_beneath(parent, PurePosixPath(name), _FOLDER)) as folder:
        os.fchmod(folder, 0o755)
