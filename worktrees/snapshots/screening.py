"""The snapshot's gate: which changes of a worktree may become a commit, and which are left out, with the reason."""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from worktrees.safety.descriptors import open_unwaiting
from worktrees.safety.path_rules import (
    escape_path,
    find_link_objection,
    find_path_objection,
    fold_file_name,
    has_attributes_above,
    is_gitmodules_path,
    is_legible_path,
)

_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"})
_AT_START = frozenset({"sitecustomize.py", "usercustomize.py"})
_WITH_TESTS = frozenset({"conftest.py"})
_COMPILED_SUFFIXES = frozenset(
    {".so", ".pyd", ".dll", ".dylib", ".exe", ".a", ".o", ".class", ".jar", ".whl", ".egg", ".wasm"}
)
_MOST_TOLD = 1000
_PATH_CHARS = 1000
_COMPILED = (".pyc", ".pyo")
_LEAST_TELLING = 8
"""Bytes from which on two files are not the same by chance."""
_ATTRIBUTES_LINE = 2048
"""Bytes in a line of `.gitattributes` that git no longer reads, and that servers refuse."""


@dataclass(frozen=True)
class SnapshotLimits:
    """The limits of one snapshot: files changed at once, bytes in one file, and bytes in all that are changed."""

    files: int = 100_000
    file_bytes: int = 50 * 1024 * 1024
    total_bytes: int = 1024**3


@dataclass(frozen=True)
class WorktreeChanges:
    """Paths that differ from the index: tracked ones that are changed or gone, and untracked ones."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    untracked: tuple[str, ...]
    submodules: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of them."""
        return len(self.changed) + len(self.removed) + len(self.untracked)


@dataclass(frozen=True)
class ScreenedChanges:
    """Files that may be put into the commit or taken out of it, and those that may not, as `path: reason`.

    `flagged` names, in the same way, what is put in although a reviewer should look at it. `size_bytes` is what all
    of it holds.
    """

    accepted: tuple[str, ...]
    removed: tuple[str, ...]
    dropped: tuple[str, ...]
    flagged: tuple[str, ...]
    size_bytes: int


def screen_changes(
    root: Path, changes: WorktreeChanges, limits: SnapshotLimits, withheld: Sequence[Path] = ()
) -> ScreenedChanges:
    """Look at each changed file; the answers are in the order of their paths.

    No file may have the content of one that is `withheld`.
    """
    copies = _by_size(withheld)
    known = frozenset(changes.changed)
    reasons = dict.fromkeys(changes.submodules, "the submodule's own changes cannot be committed")
    sizes: dict[str, int] = {}
    for path in sorted((*changes.changed, *changes.untracked)):
        verdict = _examine_file(root, path, path in known, limits)
        if isinstance(verdict, int) and _is_copy(root / path, copies.get(verdict, ())):
            verdict = "it is a copy of what is lent to the workspace from your checkout, which git ignores there"
        if isinstance(verdict, str):
            reasons[_find_subject(path)] = verdict
        else:
            sizes[path] = verdict
    removed = tuple(path for path in changes.removed if not is_gitmodules_path(path))
    reasons.update(dict.fromkeys(set(changes.removed) - set(removed), _GITMODULES))
    flagged = _find_risky_files(root, (path for path in sizes if path not in known))
    return ScreenedChanges(
        tuple(sizes), removed, format_reasons(reasons.items()), format_reasons(flagged.items()), sum(sizes.values())
    )


def _by_size(withheld: Iterable[Path]) -> dict[int, list[Path]]:
    """Return files by their sizes in bytes, without such as anything might equal by chance."""
    found: dict[int, list[Path]] = {}
    for file in withheld:
        if file.is_file() and (size := file.stat().st_size) >= _LEAST_TELLING:
            found.setdefault(size, []).append(file)
    return found


def _is_copy(file: Path, originals: Sequence[Path]) -> bool:
    if not originals or file.is_symlink():
        return False
    content = _read_file(file)
    return content is not None and any(content == _read_file(original) for original in originals)


def _read_file(file: Path) -> bytes | None:
    """Return a file's content; None if it cannot be read, by which nobody can have copied it either."""
    try:
        with open_unwaiting(file, 0) as opened:
            return opened.read()
    except OSError:
        return None


_GITMODULES = "where submodules come from cannot be changed"


def format_reasons(reasons: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Format reasons as they are shown, sorted by path; of very long paths the ends."""
    return tuple(f"{_shorten_path(escape_path(path))}: {reason}" for path, reason in sorted(reasons))


def limit_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Sort lines, and keep no more than anybody reads: a worker can leave a hundred thousand."""
    told = sorted(lines)
    if len(told) <= _MOST_TOLD:
        return tuple(told)
    return (*told[:_MOST_TOLD], f"and {len(told) - _MOST_TOLD:,} more")


def _shorten_path(path: str) -> str:
    if len(path) <= _PATH_CHARS:
        return path
    return f"{path[: _PATH_CHARS // 2]}…{path[-_PATH_CHARS // 2 :]}"


def _examine_file(root: Path, path: str, is_tracked: bool, limits: SnapshotLimits) -> int | str:
    """Return the size of a file that may be committed, in bytes, or why it may not."""
    if not is_tracked and (reason := _new_name_objection(path)):
        return reason
    if is_gitmodules_path(path):
        return _GITMODULES
    try:
        found = (root / path).lstat()
        return _content_objection(root, path, found, limits) or found.st_size
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _content_objection(root: Path, path: str, found: os.stat_result, limits: SnapshotLimits) -> str | None:
    if stat.S_ISLNK(found.st_mode):
        return find_link_objection(path, str((root / path).readlink()))
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if found.st_size > limits.file_bytes:
        return f"it is larger than {limits.file_bytes / 1024**2:g} MiB"
    if (
        path.rpartition("/")[2].casefold() == ".gitattributes"
        and _measure_longest_line(root / path) >= _ATTRIBUTES_LINE
    ):
        return f"git refuses attributes in lines of {_ATTRIBUTES_LINE} bytes and more"
    return None


def _measure_longest_line(file: Path) -> int:
    """Return the bytes in the longest line of a regular file, which is neither followed nor waited for."""
    with open_unwaiting(file) as opened:
        return max(map(len, opened), default=0)


def _new_name_objection(path: str) -> str | None:
    if path.endswith("/"):
        return "it is a git repository of its own, so nothing in it can be committed: remove its .git to keep the files"
    if _find_cache(path) or path.endswith(_COMPILED):
        return "caches and compiled Python are not committed"
    if has_attributes_above(path):
        return "git refuses a directory of the name .gitattributes"
    unreadable = "its name holds control characters or such that cannot be seen"
    return find_path_objection(path) or (None if is_legible_path(path) else unreadable)


def _find_subject(path: str) -> str:
    """Return what a reason is about: a cache once, not each of its files."""
    return _find_cache(path) or path


def _find_cache(path: str) -> str | None:
    """Return the outermost directory on a file's way that holds what some tool can make again."""
    parts = path.split("/")[:-1]
    number = next((number for number, part in enumerate(parts) if part in _CACHES), None)
    if number is None:
        return None
    return "/".join(parts[: number + 1])


def _find_risky_files(root: Path, new: Iterable[str]) -> Mapping[str, str]:
    """Return why a reviewer should look at some new files of a worktree: path → reason, in their order.

    The paths must be real ones of `root`, as git lists them; their directories are looked into, nothing is opened.
    """
    siblings: dict[Path, Mapping[str, frozenset[str]]] = {}
    found = {}
    for path in new:
        reason = _is_run_automatically(PurePosixPath(path)) or _has_collision(root, path, siblings)
        if reason:
            found[path] = reason
    return found


def _is_run_automatically(path: PurePosixPath) -> str | None:
    if path.name in _AT_START or path.suffix == ".pth":
        return "Python runs it at every start where it is found"
    if path.name in _WITH_TESTS:
        return "pytest runs it before the tests"
    if path.suffix.lower() in _COMPILED_SUFFIXES:
        return "it is compiled, so that no diff shows what it does"
    return None


def _has_collision(root: Path, path: str, siblings: dict[Path, Mapping[str, frozenset[str]]]) -> str | None:
    """Return True if some file system takes a part of the path for another name that stands beside it."""
    place = root
    for part in path.split("/"):
        if place not in siblings:
            siblings[place] = _group_by_folded_name(place)
        others = siblings[place].get(fold_file_name(part), frozenset()) - {part}
        if others:
            return f"file systems that do not tell case apart take {part!a} for {min(others)!a}"
        place /= part
    return None


def _group_by_folded_name(place: Path) -> Mapping[str, frozenset[str]]:
    """Return the names in a directory that are more than one when folded."""
    groups: dict[str, set[str]] = {}
    with suppress(OSError):
        for name in os.listdir(place):  # noqa: PTH208 - only names are wanted
            groups.setdefault(fold_file_name(name), set()).add(name)
    return {key: frozenset(names) for key, names in groups.items() if len(names) > 1}
