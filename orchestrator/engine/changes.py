"""What a candidate changed, read from git for the judge's rules, and its code under the base's own tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.judge.addressed import AddedLine
from orchestrator.judge.changed import ChangedFile
from orchestrator.judge.protected import is_looked_into
from worktrees.delta import Change, tree_delta
from worktrees.diff import diff
from worktrees.git import Git
from worktrees.merge import commit_tree
from worktrees.names import printable
from worktrees.objects import read_objects
from worktrees.overlay import overlay
from worktrees.trees import tree_of

_MOST_FILES = 2_000
"""Of more files no content is read, which makes the change red: no reviewer could read it either."""


@dataclass(frozen=True)
class Changes:
    """All that differs between a base and a candidate: files with their contents, and the lines that were added."""

    files: tuple[ChangedFile, ...]
    lines: tuple[AddedLine, ...]


async def read_changes(git: Git, base: CommitId, candidate: CommitId) -> Changes:
    """The changes from one commit to another; renames are a removal and an addition.

    Raises:
        GitError: one of them does not exist.
    """
    delta = await tree_delta(git, base, candidate)
    return Changes(await _files(git, base, candidate, delta), await _added(git, base, candidate))


async def _files(git: Git, base: str, candidate: str, delta: Sequence[Change]) -> tuple[ChangedFile, ...]:
    looked = [change for change in delta if is_looked_into(change.path)][:_MOST_FILES]
    old = await _contents(git, base, [c.path for c in looked if c.old_mode])
    new = await _contents(git, candidate, [c.path for c in looked if c.new_mode])
    return tuple(
        ChangedFile(c.path, old.get(c.path), new.get(c.path), old_mode=c.old_mode, new_mode=c.new_mode) for c in delta
    )


async def _contents(git: Git, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
    names = [f"{commit}:{path}".encode("utf-8", "surrogateescape") for path in paths]
    found = await read_objects(git, names)
    return {path: blob.content for path, blob in zip(paths, found, strict=True) if blob and blob.kind == "blob"}


async def _added(git: Git, base: str, candidate: str) -> tuple[AddedLine, ...]:
    changed = await diff(git, base, candidate)
    return tuple(
        AddedLine(printable(file.path), line.new_number or 0, line.text)
        for file in changed.files
        for hunk in file.hunks
        for line in hunk.lines
        if line.kind == "+"
    )


@dataclass(frozen=True)
class Restored:
    """A commit with some of its files as they are on another one."""

    commit: CommitId
    tree: TreeId


async def restored(
    git: Git, commit: CommitId, source: CommitId, paths: Sequence[str], when: str, message: str
) -> Restored | None:
    """The commit with `paths` as `source` has them; None if that changes nothing."""
    wanted = frozenset(paths)
    back = {
        change.path: (change.new_mode, change.oid) if change.new_mode else None
        for change in await tree_delta(git, commit, source)
        if change.path in wanted
    }
    if not back:
        return None
    tree = await overlay(git, await tree_of(git, commit), back)
    made = await commit_tree(git, tree, [commit], message, when)
    return Restored(CommitId(made), TreeId(tree))
