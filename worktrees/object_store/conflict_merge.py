"""Merges that are written down although they conflict: clashing places stand between markers in the files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from worktrees.git import Git
from worktrees.object_store.merge import (
    EPOCH_DATE,
    build_unmergeable_error,
    commit_tree,
    parse_conflicts,
    prepare_merging,
)
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree, read_entry_contents, read_tree_id, write_blob

OURS_LABEL = "what landed meanwhile"
BASE_LABEL = "as it was before both"
THEIRS_LABEL = "what this task changed"
"""The words behind the markers of the two sides, and of what stood there before."""
_MARKER = re.compile(rb"^(<{7,}|\|{7,}|>{7,}) [^\r\n]*", re.MULTILINE)
_LABELS: Mapping[bytes, bytes] = {
    b"<": OURS_LABEL.encode(),
    b"|": BASE_LABEL.encode(),
    b">": THEIRS_LABEL.encode(),
}
_PLAIN_MODES = frozenset({"100644", "100755"})
_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class WrittenMerge:
    """A merge as a tree: without `conflicts` a clean one, else these paths, sorted, hold markers or one of the sides.

    `messages` are git's words on each conflict.
    """

    tree: str
    conflicts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


async def write_merge(git: Git, base: str, ours: str, theirs: str, union: Sequence[str] = ()) -> WrittenMerge:
    """Apply what changed from `base` to `theirs` onto `ours`, and return the tree, whether that conflicts or not.

    Nothing else of the history of the three counts. Where lines clash, the file holds what both sides have and what was
    there before (`diff3`), with words behind the markers. A file that is no text stays as `ours` has it; one that a
    side deleted stays as the other side has it.

    Raises:
        GitError: one of them is no commit.
    """
    sides, fields = await _merge_sides(git, base, ours, theirs, union)
    tree, *rest = fields
    paths, messages = parse_conflicts(rest)
    if not paths:
        return WrittenMerge(tree)
    return WrittenMerge(await _name_sides(git, tree, paths, sides), paths, messages)


async def find_conflicts(git: Git, base: str, ours: str, theirs: str, union: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the paths that would conflict if what changed from `base` to `theirs` were applied onto `ours`.

    All three are trees or commits.

    Raises:
        GitError: one of them does not exist.
    """
    _, fields = await _merge_sides(git, base, ours, theirs, union)
    return parse_conflicts(fields[1:])[0]


async def _merge_sides(
    git: Git, base: str, ours: str, theirs: str, union: Sequence[str]
) -> tuple[tuple[str, str], list[str]]:
    """Return the commits of the two sides, and what git writes about their merge: the tree, paths, messages."""
    first = await _commit_alone(git, base, ())
    sides = (await _commit_alone(git, ours, (first,)), await _commit_alone(git, theirs, (first,)))
    options = ("--write-tree", "-z", "--name-only", "--messages")
    with prepare_merging(git, union) as able:
        marking = replace(able, overrides=(*able.overrides, ("merge.conflictStyle", "diff3")))
        done = await marking.run("merge-tree", *options, *sides, ok=(0, 1))
    fields = done.text.split("\0")
    if not fields[0]:
        raise build_unmergeable_error(ours, theirs)
    return sides, fields if done.exit_code else fields[:1]


async def _commit_alone(git: Git, commit: str, parents: Sequence[str]) -> str:
    """Return a commit with the tree of another one, and these parents: git takes what it merges on from the parents."""
    return await commit_tree(git, await read_tree_id(git, commit), parents, "side of a merge", EPOCH_DATE)


async def _name_sides(git: Git, tree: str, paths: Sequence[str], sides: tuple[str, str]) -> str:
    """Return the tree with words in place of object ids behind the markers of these files."""
    marked = []
    for entry in await list_tree(git, tree, paths):
        if entry.path in paths and entry.mode in _PLAIN_MODES and (entry.size or 0) <= _MOST_BYTES:
            marked.append(entry)
    changes: dict[str, tuple[str, str] | None] = {}
    contents = await read_entry_contents(git, marked)
    for entry in marked:
        named = _replace_labels(contents[entry.path], sides)
        if named != contents[entry.path]:
            changes[entry.path] = (entry.mode, await write_blob(git, named))
    return await overlay_tree(git, tree, changes)


def _replace_labels(content: bytes, sides: tuple[str, str]) -> bytes:
    """Return the content with words behind the markers that git wrote; those that a file had before stay."""
    starts = {b"<": sides[0].encode(), b">": sides[1].encode()}

    def name_marker(found: re.Match[bytes]) -> bytes:
        marker = found[1]
        kind = marker[:1]
        label = found[0][len(marker) + 1 :]
        if kind in starts and not label.startswith(starts[kind]):
            return found[0]
        if kind == b"|" and re.fullmatch(rb"[0-9a-f]{4,64}(:.*)?|merged common ancestors", label) is None:
            return found[0]
        return marker + b" " + _LABELS[kind]

    return _MARKER.sub(name_marker, content)
