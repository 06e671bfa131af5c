"""Files that a snapshot takes but names: new ones that run, or shadow others, without anybody asking for them."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from worktrees.safety.path_rules import fold_file_name

_AT_START = frozenset({"sitecustomize.py", "usercustomize.py"})
_WITH_TESTS = frozenset({"conftest.py"})
_COMPILED = frozenset({".so", ".pyd", ".dll", ".dylib", ".exe", ".a", ".o", ".class", ".jar", ".whl", ".egg", ".wasm"})


def find_risky_files(root: Path, new: Iterable[str]) -> Mapping[str, str]:
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
    if path.suffix.lower() in _COMPILED:
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
