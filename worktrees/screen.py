"""The snapshot's gate: which changes of a worktree may become a commit, and which are left out, with the reason."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from worktrees.names import is_readable, link_objection, objection, printable

_COMPILED = "__pycache__"


@dataclass(frozen=True)
class Limits:
    """What one snapshot may hold: files changed at once, and bytes in one file."""

    files: int = 100_000
    file_bytes: int = 50 * 1024 * 1024


@dataclass(frozen=True)
class Changes:
    """Paths that differ from the index: tracked ones that are changed or gone, and untracked ones."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    untracked: tuple[str, ...]
    submodules: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.changed) + len(self.removed) + len(self.untracked)


@dataclass(frozen=True)
class Screened:
    """What may go into the commit, and what not, as `path: reason`."""

    accepted: tuple[str, ...]
    dropped: tuple[str, ...]


def screen(root: Path, changes: Changes, limits: Limits) -> Screened:
    """Look at each changed file; the answers are in the order of their paths."""
    accepted, dropped = [], dict.fromkeys(changes.submodules, "the submodule's own changes cannot be committed")
    known = frozenset(changes.changed)
    for path in sorted((*changes.changed, *changes.untracked)):
        reason = _objection(root, path, path in known, limits)
        if reason:
            dropped[_subject(path)] = reason
        else:
            accepted.append(path)
    return Screened(tuple(accepted), as_dropped(dropped.items()))


def as_dropped(reasons: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Reasons as they are shown, sorted by path."""
    return tuple(f"{printable(path)}: {reason}" for path, reason in sorted(reasons))


def _objection(root: Path, path: str, is_tracked: bool, limits: Limits) -> str | None:
    if not is_tracked and (reason := _new_name_objection(path)):
        return reason
    try:
        found = (root / path).lstat()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if stat.S_ISLNK(found.st_mode):
        return link_objection(path, str((root / path).readlink()))
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if found.st_size > limits.file_bytes:
        return f"it is larger than {limits.file_bytes / 1024**2:g} MiB"
    return None


def _new_name_objection(path: str) -> str | None:
    if path.endswith("/"):
        return "it is a git repository of its own, so nothing in it can be committed: remove its .git to keep the files"
    if _COMPILED in path.split("/") or path.endswith(".pyc"):
        return "compiled Python is not committed"
    return objection(path) or (None if is_readable(path) else "its name holds control characters")


def _subject(path: str) -> str:
    """What a reason is about: the directory of compiled files once, not each of them."""
    before, found, _ = f"/{path}".partition(f"/{_COMPILED}/")
    return f"{before}/{_COMPILED}".lstrip("/") if found else path
