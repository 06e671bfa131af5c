"""Installed dependencies, kept by a hash of what they were made from and shared by all runs of a repository.

KEY/       exists only whole: it comes by one rename; below it what was installed, at its place in the checkout,
           and .names, which lists these places where that was asked for
KEY.new/   is being made, under the lock KEY.making
KEY.used   is locked by whoever uses KEY, each with a shared lock; its time is that of the last use
"""

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.files.directory_trees import clear_set_id_bits, remove_tree
from worktrees.locks.file_lock import hold_file_lock, try_file_lock, wait_for_file_lock
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.private_directory import create_private_directory

_INDEX = ".names"
_MAKING_S = 4 * 3600.0
"""Patience with another process that makes the same entry; each of its commands may take an hour."""


@dataclass(frozen=True)
class DepsStore:
    """The store in `root`, which need not exist yet."""

    root: Path

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all entries, finished or not."""
        if not self.root.is_dir():
            return ()
        return tuple(sorted({entry.name.partition(".")[0] for entry in self.root.iterdir()}))

    def has_entry(self, key: str) -> bool:
        """Return True if the finished entry exists."""
        return (self.root / key).is_dir()

    def list_entry_paths(self, key: str) -> tuple[str, ...]:
        """Return the paths taken into the entry, relative to the checkout. Blocks."""
        return tuple(json.loads((self.root / key / _INDEX).read_text(encoding="utf-8")))

    async def ensure_entry(self, key: str, make: Callable[[], Awaitable[None]], stack: ExitStack) -> Path:
        """Return the entry's directory, which is kept while `stack` is open; await `make` if the entry is missing."""
        folder = stack.enter_context(self.hold_entry(key))
        if not self.has_entry(key):
            async with hold_file_lock(self.root / f"{key}.making", patience_s=_MAKING_S):
                if not self.has_entry(key):
                    await make()
        return folder

    @contextmanager
    def hold_entry(self, key: str) -> Iterator[Path]:
        """Keep the entry from being removed while the block lasts; yields its directory, which may not exist yet."""
        create_private_directory(self.root)
        with hold_descriptor(wait_for_file_lock(self.root / f"{key}.used", is_shared=True)) as descriptor:
            os.utime(descriptor)
            yield self.root / key

    def move_into_entry(self, key: str, source: Path, names: Iterable[str], *, is_listed: bool = False) -> None:
        """Move these paths of `source` into the entry, all or none. Only under the making lock; blocks.

        With `is_listed` their names are kept for `list_entry_paths`.

        Raises:
            OSError: one of them is not there, or cannot be moved.
        """
        new = self.root / f"{key}.new"
        names = sorted(names)
        remove_tree(new)
        new.mkdir(parents=True)
        for name in names:
            path = source / name
            if path.resolve() != source.resolve() / name or not (path.is_dir() or path.is_file()):
                # It may be something else of the host's.
                raise OSError(f"{name} is no directory of the workspace, and no file")
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(new / name)
        if is_listed:
            (new / _INDEX).write_text(json.dumps(names), encoding="utf-8")
        os.sync()  # what a power cut leaves of it must not be half of it
        clear_set_id_bits(new)
        new.rename(self.root / key)

    def list_unused_keys(self, unused_s: float) -> tuple[str, ...]:
        """Return the keys unused for `unused_s` seconds, and those left half-made by dead processes. Blocks."""
        return tuple(key for key in self.keys if self._is_unused(key, unused_s))

    def remove_entry(self, key: str) -> None:
        """Remove the entry, unless somebody uses or makes it now. Blocks."""
        with self._lock_entry(key) as is_alone:
            if is_alone:
                for name in (key, f"{key}.new"):
                    remove_tree(self.root / name)
                for name in (f"{key}.making", f"{key}.used"):
                    (self.root / name).unlink(missing_ok=True)

    def _is_unused(self, key: str, unused_s: float) -> bool:
        with self._lock_entry(key) as is_alone:
            if not is_alone:
                return False
            with suppress(OSError):
                age_s = time.time() - (self.root / f"{key}.used").stat().st_mtime
                return not self.has_entry(key) or age_s > unused_s
            return True

    @contextmanager
    def _lock_entry(self, key: str) -> Iterator[bool]:
        """Lock the entry against use; yields False if somebody uses or makes it."""
        attempts = [try_file_lock(self.root / f"{key}.{file}") for file in ("making", "used")]
        descriptors = [descriptor for descriptor in attempts if descriptor is not None]
        try:
            yield len(descriptors) == 2
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
