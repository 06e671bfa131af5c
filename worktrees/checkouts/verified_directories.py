"""Directories known to be in order, so that they need not be listed again until something in them changes."""

import os
import time

from worktrees.checkouts.tree_layout import DirectoryNames

_SETTLED_NS = 100_000_000


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
