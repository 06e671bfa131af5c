"""Changes that lead from one tree to another: found without looking at what both have in common."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.object_ids import ImmutableCache, is_object_id
from worktrees.records import encode_lines

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


class EntryChange(NamedTuple):
    """The difference of one entry of a tree: mode and object before and after; a mode is None where it is absent."""

    old_mode: str | None
    old_oid: str
    new_mode: str | None
    new_oid: str


async def compare_tree_pairs(git: Git, pairs: Sequence[tuple[str, str]]) -> list[dict[str, EntryChange]]:
    """Return what differs between the trees of each pair, by path, with one process; renames are not recognised.

    All are ids of trees.

    Raises:
        GitError: one of them does not exist.
    """
    if not pairs:
        return []
    lines = encode_lines(map(" ".join, pairs))
    words = ("diff-tree", "--stdin", "-r", "--raw", "-z", "--no-renames", "--no-abbrev")
    told = (await git.run(*words, stdin=lines)).stdout.decode("utf-8", "surrogateescape")
    fields = told.split("\0")
    found: list[dict[str, EntryChange]] = []
    for place in range(0, len(fields), 2):
        *headers, meta = fields[place].split("\n")  # a line with both ids stands before the changes of each pair
        found.extend({} for _ in headers)
        if meta:
            old_mode, new_mode, old_oid, new_oid, _ = meta[1:].split(" ")
            change = EntryChange(_parse_mode(old_mode), old_oid, _parse_mode(new_mode), new_oid)
            found[-1][fields[place + 1]] = change
    if len(found) != len(pairs):
        raise GitError(f"git diff-tree told of {len(found)} of {len(pairs)} pairs: one is no pair of trees", words)
    return found


def _parse_mode(mode: str) -> str | None:
    return None if mode == _ABSENT else mode
