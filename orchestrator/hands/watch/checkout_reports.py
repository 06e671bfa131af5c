"""The paths of a pool's checkouts that were written since they were last in order, as the kernel reports it.

Every directory and every file of the tree is watched by itself, so that a file is reported too when it is written
through another name that somebody has linked to it, in a directory that is not watched. Watches stay between leases:
what another process does to a checkout is reported like anything else. Where the kernel cannot watch, has no watch
left or has lost reports, nothing is known of a checkout, and all of it is looked at again.
"""

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from inotify_simple import Event, INotify, flags

from worktrees.checkouts.change_reports import ReportedChanges
from worktrees.checkouts.tree_layout import TreeLayout, list_files

_NAMES = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO
_GONE = flags.MOVE_SELF | flags.UNMOUNT | flags.IGNORED
_OF_FOLDERS = _NAMES | flags.ATTRIB | flags.MOVE_SELF | flags.ONLYDIR | flags.DONT_FOLLOW
_OF_FILES = flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB | flags.DONT_FOLLOW
_MOST_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_SHARE = 2
"""One half of the watches that the kernel gives a user is left to others."""


class CheckoutReports:
    """Reports on the checkouts of one pool; implements `worktrees.checkouts.change_reports.ChangeReports`.

    A checkout is watched from the second time on that it is settled: many are used only once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inotify: INotify | None = None
        self._checkouts: dict[Path, _WatchedCheckout] = {}
        self._watched: dict[int, _WatchedCheckout] = {}
        self._most = _read_most_watches() // _SHARE

    def __enter__(self) -> "CheckoutReports":
        """Return the reports, which end with the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give all watches back."""
        self.close()

    def collect_changes(self, root: Path) -> ReportedChanges | None:
        """Return what has changed since the checkout was settled, None if that is not certain."""
        with self._lock:
            self._read_events()
            checkout = self._checkouts.get(root)
            if checkout is None or not checkout.is_complete:
                return None
            checkout.is_used = True
            return ReportedChanges(frozenset(checkout.names), frozenset(checkout.contents))

    def settle_checkout(self, root: Path, layout: TreeLayout, written: Collection[str] | None) -> None:
        """Take the content as it is for unchanged; see `ChangeReports`."""
        with self._lock:
            checkout = self._checkouts.get(root)
            if checkout is None:
                self._checkouts[root] = _WatchedCheckout(root)
                return
            if written is None:
                self._remove_watches(checkout)
                if checkout.skip_watch():
                    return
            paths = [*layout, *list_files(layout)] if written is None else _list_written(written)
            self._read_events()
            try:
                self._add_watches(checkout, paths, layout)
            except OSError:  # no inotify here, no watch left, or a checkout that is not as it was
                self._remove_watches(checkout)
                return
            self._read_events()
            checkout.begin_anew(is_whole=written is None)

    def read_events(self) -> None:
        """Take over what the kernel has reported so far: it drops all once there is too much."""
        with self._lock:
            self._read_events()

    def close(self) -> None:
        """Watch nothing any more."""
        with self._lock:
            if self._inotify is not None:
                self._inotify.close()
            self._inotify = None
            self._watched.clear()
            self._checkouts.clear()

    def _add_watches(self, checkout: "_WatchedCheckout", paths: Iterable[str], layout: TreeLayout) -> None:
        if self._inotify is None:
            self._inotify = INotify(nonblocking=True)
        top = f"{checkout.root}/"
        for path in paths:
            if len(self._watched) >= self._most:
                raise OSError("no watch is left")
            number = self._inotify.add_watch(top + path, _OF_FOLDERS if path in layout else _OF_FILES)
            self._watched[number] = checkout
            checkout.paths[number] = path

    def _remove_watches(self, checkout: "_WatchedCheckout") -> None:
        checkout.mark_lost()
        for number in checkout.paths:
            self._watched.pop(number, None)
            with suppress(OSError):  # its file is gone
                if self._inotify is not None:
                    self._inotify.rm_watch(number)
        checkout.paths.clear()

    def _read_events(self) -> None:
        while self._inotify is not None and (events := self._inotify.read(timeout=0)):
            for event in events:
                self._deliver_event(event)

    def _deliver_event(self, event: Event) -> None:
        if event.mask & flags.Q_OVERFLOW:
            for each in self._checkouts.values():
                each.mark_lost()
            return
        checkout = self._watched.get(event.wd)
        if event.mask & flags.IGNORED:
            self._watched.pop(event.wd, None)
        if checkout is not None:
            checkout.record_event(event)


class _WatchedCheckout:
    """One checkout: what is watched in it, by the kernel's number, and what was reported."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths: dict[int, str] = {}
        self.names: set[str] = set()
        self.contents: set[str] = set()
        self.is_complete = False
        self.is_used = True
        """True if its reports were of use since it was last watched as a whole."""

    def skip_watch(self) -> bool:
        """Return True every second time that all of it would be watched although that was of no use before."""
        self.is_used = not self.is_used
        return self.is_used

    def record_event(self, event: Event) -> None:
        """Note a report of the kernel about one of the directories or files."""
        path = self.paths.get(event.wd, "")
        if event.mask & flags.IGNORED:
            self.paths.pop(event.wd, None)
        if not path and event.mask & _GONE:
            self.mark_lost()
        elif event.mask & _NAMES:
            self.names.add(f"{path}/{event.name}".lstrip("/"))
        else:
            self.contents.add(path)

    def mark_lost(self) -> None:
        """Take nothing for granted any more, until all of it is watched anew."""
        self.is_complete = False

    def begin_anew(self, *, is_whole: bool) -> None:
        """Forget what was reported. If not all of it was watched anew, what was lost before stays lost."""
        self.names.clear()
        self.contents.clear()
        self.is_complete = self.is_complete or is_whole


def _list_written(written: Collection[str]) -> Iterator[str]:
    """Yield files and all directories that they lie in, any of which may be new; watching one again changes nothing."""
    folders: set[str] = set()
    for path in written:
        yield path
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in folders:
                break
            folders.add(folder)
            yield folder


def _read_most_watches() -> int:
    """Return how many watches the kernel gives a user; none where it does not say."""
    try:
        return int(_MOST_WATCHES.read_text("ascii"))
    except (OSError, ValueError):
        return 0
