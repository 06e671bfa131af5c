"""Watching the files of a workspace from the host while a command runs in it: which it opened, which it wrote.

The kernel reports opens and writes by inotify, which needs no rights and sees through the mounts of a sandbox, as it
watches the directories themselves. What was written is known by the files' stamps as well: a file that was changed and
changed back has another time of change, which no command can set. Only files that were there at the beginning count.
"""

import os
import select
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from inotify_simple import Event, INotify, flags

_UNWATCHED = frozenset({".git", ".venv", "node_modules"})
"""Directories that hold no files of the tree, whatever they lie in."""
_REPLACED = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
_WRITTEN = flags.MODIFY | _REPLACED
_MASK = flags.OPEN | _WRITTEN | flags.ONLYDIR | flags.DONT_FOLLOW | flags.EXCL_UNLINK
_BATCH_S = 0.005
"""Waited before events are read, so that a busy command does not wake us for each. The kernel keeps 16,384 events."""


class WatchedFiles(NamedTuple):
    """The files that a command opened and wrote, sorted, relative to the workspace.

    `opened` is None where the kernel could not watch, or reported more than it can keep.
    """

    opened: tuple[str, ...] | None
    written: tuple[str, ...]


class _Stamp(NamedTuple):
    """The marks of a file by which it is still the same, and was not written, linked or moved in between."""

    inode: int
    changed_ns: int


@dataclass
class _Tree:
    """The directories and files that a workspace holds when the watch begins; "" is the workspace itself."""

    folders: list[str] = field(default_factory=list)
    stamps: dict[str, _Stamp] = field(default_factory=dict)


class FileWatch:
    """A watch over a workspace, from when it is made until `finish_watch`. Both block.

    `excluded` are paths below the root that are mounted from elsewhere. More than `most_names` different names are not
    kept, since a command may make up any number of them; then what it opened is unknown.
    """

    def __init__(self, root: Path, excluded: Iterable[str] = (), most_names: int = 1_000_000) -> None:
        self._root = root
        self._most_names = most_names
        self._tree = _read_tree(root, frozenset(excluded))
        self._seen: dict[tuple[int, str], int] = {}
        self._folders: dict[int, str] = {}
        self._is_whole = True
        self._stop, self._stopped = os.pipe()
        self._inotify = self._open_inotify()
        self._reader = threading.Thread(target=self._collect_events, name=f"watch {root.name}", daemon=True)
        if self._inotify is not None:
            self._reader.start()

    def finish_watch(self) -> WatchedFiles:
        """Return what was opened and written since the beginning; to be called once, when the command is dead."""
        os.close(self._stopped)
        if self._inotify is not None:
            self._reader.join()
            self._inotify.close()
        os.close(self._stop)
        opened, written = self._sort_events()
        written |= _find_changed(self._root, self._tree.stamps)
        is_known = self._inotify is not None and self._is_whole
        return WatchedFiles(tuple(sorted(opened)) if is_known else None, tuple(sorted(written)))

    def _open_inotify(self) -> INotify | None:
        """Return an inotify that watches every directory; None if this system has none, or none left."""
        try:
            inotify = INotify(nonblocking=True)
        except (OSError, AttributeError):
            return None
        try:
            for folder in self._tree.folders:
                self._folders[inotify.add_watch(self._root / folder, _MASK)] = folder
        except OSError:
            inotify.close()
            return None
        return inotify

    def _collect_events(self) -> None:
        """Read events until the stop is closed, and then what is left of them."""
        inotify = self._inotify
        if inotify is None:
            return
        poller = select.poll()
        poller.register(inotify.fileno(), select.POLLIN)
        poller.register(self._stop, select.POLLIN)
        is_running = True
        while is_running:
            for descriptor, _ in poller.poll():
                is_running = is_running and descriptor != self._stop
            if is_running:
                time.sleep(_BATCH_S)
            while events := inotify.read(timeout=0):
                self._merge_events(events)

    def _merge_events(self, events: Iterable[Event]) -> None:
        seen = self._seen
        for watch, mask, _, name in events:
            if mask & flags.Q_OVERFLOW or len(seen) >= self._most_names:
                self._is_whole = False
                continue
            key = (watch, name)
            seen[key] = seen.get(key, 0) | mask

    def _sort_events(self) -> tuple[set[str], set[str]]:
        """Return the files that were opened and those that were written, by the events."""
        opened, written, moved = set[str](), set[str](), list[str]()
        for (watch, name), mask in self._seen.items():
            path = _join_path(self._folders.get(watch, ""), name)
            if path in self._tree.stamps:
                if mask & flags.OPEN:
                    opened.add(path)
                if mask & _WRITTEN:
                    written.add(path)
            elif mask & flags.ISDIR and mask & _REPLACED:
                moved.append(f"{path}/")
        if moved:
            written.update(path for path in self._tree.stamps if path.startswith(tuple(moved)))
        return opened, written


def _join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}".strip("/")


def _read_tree(root: Path, excluded: Collection[str]) -> _Tree:
    tree, waiting, top = _Tree(), [""], f"{root}/"
    while waiting:
        folder = waiting.pop()
        tree.folders.append(folder)
        before = f"{folder}/" if folder else ""
        for entry in _list_entries(top + folder):
            path = before + entry.name
            if entry.name in _UNWATCHED or path in excluded:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                status = entry.stat(follow_symlinks=False)
                tree.stamps[path] = _Stamp(status.st_ino, status.st_ctime_ns)
    return tree


def _list_entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _find_changed(root: Path, stamps: dict[str, _Stamp]) -> set[str]:
    """Return the files that are gone, or not the same any more."""
    changed, top = set(), f"{root}/"
    for path, stamp in stamps.items():
        try:
            status = os.lstat(top + path)
        except OSError:
            changed.add(path)
            continue
        if stamp != (status.st_ino, status.st_ctime_ns):
            changed.add(path)
    return changed
