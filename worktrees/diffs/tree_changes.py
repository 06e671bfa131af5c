"""Changes that lead from one tree to another: found without looking at what both have in common."""

from pathlib import Path
from typing import NamedTuple

from worktrees.git import Git
from worktrees.object_store.object_ids import ImmutableCache, is_object_id

_MOST_KEPT = 1_000
_ABSENT = "000000"
SUBMODULE = "160000"


class TreeChange(NamedTuple):
    """A path that differs; a mode is None where the path does not exist, `oid` is the new object's."""

    path: str
    old_mode: str | None
    new_mode: str | None
    oid: str


_comparisons: ImmutableCache[tuple[Path, str, str], tuple[TreeChange, ...]] = ImmutableCache(512)
"""Differences of some hundred paths at most: worktrees, the rules and the clash probes look at the same ones."""


async def compare_trees(git: Git, old: str, new: str) -> tuple[TreeChange, ...]:
    """Return the paths that differ between two trees, renames not recognised.

    Raises:
        GitError: one of them does not exist.
    """
    known = _comparisons.get_value((git.git_dir, old, new))
    if known is not None:
        return known
    raw = await git.run_text("diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", old, new)
    fields = raw.split("\0")
    changes = tuple(_parse_change(meta, path) for meta, path in zip(fields[0::2], fields[1::2], strict=False))
    if len(changes) <= _MOST_KEPT and is_object_id(old, new):
        _comparisons.store_value((git.git_dir, old, new), changes)
    return changes


def _parse_change(meta: str, path: str) -> TreeChange:
    old_mode, new_mode, _, oid, _ = meta[1:].split(" ")
    return TreeChange(path, None if old_mode == _ABSENT else old_mode, None if new_mode == _ABSENT else new_mode, oid)
