"""A table of a run's state that notes its changes for whoever keeps something that follows from it."""

from typing import TypeVar
from weakref import WeakSet

K = TypeVar("K")
V = TypeVar("V")


class TableChanges:
    """The keys of a table that were set or removed since somebody last took them, in order."""

    def __init__(self) -> None:
        self._keys: dict[object, None] = {}

    def note_key(self, key: object) -> None:
        """Note that a key was set or removed."""
        self._keys[key] = None

    def take_keys(self) -> tuple[object, ...]:
        """Return the keys that have changed, and begin anew."""
        if not self._keys:
            return ()
        taken = tuple(self._keys)
        self._keys.clear()
        return taken


class WatchedTable(dict[K, V]):
    """A dictionary that is changed by setting and deleting keys only, and notes which.

    Nobody has to sign off: whoever lets go of what `watch_changes` returned is not told any more.
    """

    __slots__ = ("_watchers",)

    def __init__(self, content: dict[K, V] | None = None) -> None:
        super().__init__(content or {})
        self._watchers: WeakSet[TableChanges] = WeakSet()

    def __setitem__(self, key: K, value: V) -> None:
        """Set a key and note it."""
        super().__setitem__(key, value)
        for watcher in self._watchers:
            watcher.note_key(key)

    def __delitem__(self, key: K) -> None:
        """Remove a key and note it."""
        super().__delitem__(key)
        for watcher in self._watchers:
            watcher.note_key(key)

    def watch_changes(self) -> TableChanges:
        """Return what the changes from now on are noted in."""
        watcher = TableChanges()
        self._watchers.add(watcher)
        return watcher
