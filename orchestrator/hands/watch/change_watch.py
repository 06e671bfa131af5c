"""Telling that nothing in a checkout was written since its last snapshot, whatever commands ran in it meanwhile.

The kernel reports every file that was opened for writing and every name that came or went, by inotify, also through the
mounts of a sandbox. So a file that is written through a mapping is reported too: somebody had to open it. What is
written through another name of a file, outside the checkout, is not: only a sandbox keeps commands from making one.
Where the kernel cannot watch, or has lost reports, everything counts as changed.
"""

import os
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

from inotify_simple import Event, INotify, flags

from orchestrator.hands.watch.checkout_reports import CheckoutReports

_NAMES = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
_MASK = _NAMES | flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB | flags.ONLYDIR | flags.DONT_FOLLOW
_GIT = ".git"
MOST_FOLDERS = 5_000
"""The directories of one checkout that are watched at most: every user has a share of the kernel's watches only."""
_ROUNDS = 3
"""So often a checkout is walked again because directories came while it was walked."""


class ChangeWatcher:
    """Watches the checkouts of one process. They share one inotify, of which systems give a user few.

    `reports` are those that the pool of the checkouts has, if any: they are read along, as the kernel keeps few.
    """

    def __init__(self, reports: CheckoutReports | None = None) -> None:
        self.reports = reports
        self._inotify: INotify | None = None
        self._trees: dict[int, WatchedTree] = {}
        self._lock = threading.Lock()

    def watch_tree(self, root: Path, excluded: Collection[str] = ()) -> "WatchedTree":
        """Return a tree that counts as changed until its first `begin_watch`.

        Args:
            root: the checkout.
            excluded: paths below it that are mounted from elsewhere, as its own `.git` is. Nested ones are watched:
                files outside them can be linked into them.
        """
        return WatchedTree(self, root, frozenset(excluded))

    def add_folder(self, tree: "WatchedTree", folder: str) -> int:
        """Watch one directory and return the kernel's number for that.

        Raises:
            OSError: this system cannot, or has no watch left.
        """
        with self._lock:
            if self._inotify is None:
                self._inotify = INotify(nonblocking=True)
            number: int = self._inotify.add_watch(tree.root / folder, _MASK)
            self._trees[number] = tree
            return number

    def remove_tree(self, tree: "WatchedTree") -> None:
        """Watch a tree no longer."""
        with self._lock:
            for number in tree.folders:
                self._trees.pop(number, None)
                try:
                    if self._inotify is not None:
                        self._inotify.rm_watch(number)
                except OSError:
                    continue  # its directory is gone
            tree.folders.clear()

    def collect_events(self) -> None:
        """Tell every tree what the kernel has reported since the last time."""
        if self.reports is not None:
            self.reports.read_events()
        with self._lock:
            if self._inotify is None:
                return
            while events := self._inotify.read(timeout=0):
                for event in events:
                    self._deliver_event(event)

    def close(self) -> None:
        """Watch nothing any more."""
        with self._lock:
            if self._inotify is not None:
                self._inotify.close()
            self._inotify = None
            for tree in self._trees.values():
                tree.mark_lost()
            self._trees.clear()

    def _deliver_event(self, event: Event) -> None:
        if event.mask & flags.Q_OVERFLOW:
            for each in self._trees.values():
                each.mark_lost()
            return
        tree = self._trees.get(event.wd)
        if event.mask & flags.IGNORED:
            self._trees.pop(event.wd, None)
        if tree is not None:
            tree.record_event(event)


class WatchedTree:
    """One checkout, and whether anything in it may have been written since the watch began."""

    def __init__(self, watcher: ChangeWatcher, root: Path, excluded: frozenset[str]) -> None:
        """Use `ChangeWatcher.watch_tree`."""
        self.root = root
        self.folders: dict[int, str] = {}
        self._watcher = watcher
        self._excluded = excluded
        self._is_complete = False
        self._is_changed = True

    def has_changed(self) -> bool:
        """Return False only if certainly nothing was written since the last `begin_watch` that succeeded."""
        self._watcher.collect_events()
        return self._is_changed or not self._is_complete

    def begin_watch(self) -> bool:
        """Take the content as it is now for unchanged; blocks. Nothing may be writing.

        Returns:
            Whether changes will be noticed from now on.
        """
        for _ in range(_ROUNDS):
            self._watcher.collect_events()
            if not self._is_complete and not self._add_folders():
                return False
            self._is_changed = False
            self._watcher.collect_events()
            if self._is_complete:
                return True
        return False

    def end_watch(self) -> None:
        """Give the kernel's watches back; from then on the tree counts as changed."""
        self._watcher.remove_tree(self)
        self.mark_lost()

    def mark_lost(self) -> None:
        """Take nothing for granted any more, until the next `begin_watch`."""
        self._is_changed, self._is_complete = True, False

    def record_event(self, event: Event) -> None:
        """Note a report of the kernel about one of the directories."""
        if event.mask & flags.IGNORED:
            self.folders.pop(event.wd, None)
            return
        path = _join_path(self.folders.get(event.wd, ""), event.name)
        if not path or path == _GIT or path in self._excluded:
            return
        self._is_changed = True
        if event.mask & flags.ISDIR and event.mask & _NAMES:
            self._is_complete = False  # a directory that came has yet to be watched

    def _add_folders(self) -> bool:
        """Watch every directory; those that are watched already keep their number."""
        try:
            for count, folder in enumerate(_list_folders(self.root, self._excluded)):
                if count >= MOST_FOLDERS:
                    self._watcher.remove_tree(self)
                    return False
                self.folders[self._watcher.add_folder(self, folder)] = folder
        except (OSError, AttributeError):  # no inotify here, no watch left, or a directory that nobody may read
            self._watcher.remove_tree(self)
            return False
        self._is_complete = True
        return True


def _list_folders(root: Path, excluded: Collection[str]) -> Iterator[str]:
    """Yield the directories of a checkout, each before what it holds is listed; the root is the empty path."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(root / folder) as entries:
            for entry in entries:
                path = _join_path(folder, entry.name)
                if path != _GIT and path not in excluded and entry.is_dir(follow_symlinks=False):
                    waiting.append(path)


def _join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}".strip("/")
