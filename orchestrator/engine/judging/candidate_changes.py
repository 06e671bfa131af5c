"""The changes of a candidate, read from git for the judge's rules, and its code under the base's own tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.engine.judging.support_files import BaseReading
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, DiffHunk
from orchestrator.judge.rules.protected_files import needs_content
from orchestrator.redact.redactor import Redactor
from worktrees.diffs.file_diffs import Diff, diff_trees
from worktrees.diffs.tree_changes import SUBMODULE, TreeChange, compare_trees
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_blobs, read_tree_id
from worktrees.safety.path_rules import escape_path

_MOST_FILES = 2_000
"""Of more files no content is read, which makes the change red where it would have counted: no reviewer could read
it either."""


@dataclass(frozen=True)
class CandidateChanges:
    """All that differs between a base and a candidate: files with their contents, and the lines that were added.

    `sizes` are the lines that were added and removed, by path; of a binary file 0. `reading` is what the
    gate on the base tells of them, once that is known.
    """

    files: tuple[ChangedFile, ...]
    lines: tuple[AddedLine, ...]
    hunks: tuple[DiffHunk, ...]
    sizes: Mapping[str, int]
    reading: BaseReading = field(default_factory=BaseReading)

    def with_reading(self, reading: BaseReading) -> "CandidateChanges":
        """Return the changes with what the gate on the base tells of them."""
        return replace(self, reading=reading)


@dataclass(frozen=True)
class JudgedChange:
    """A change as it is tested: a commit with its tree, and all that differs on it from a base.

    That is a candidate on the base of its attempt, a candidate on top of what lands before it, or a union of several.
    """

    commit: CommitId
    tree: TreeId
    base: CommitId
    changes: CandidateChanges

    @property
    def changed_paths(self) -> tuple[str, ...]:
        """The paths that differ."""
        return tuple(file.path for file in self.changes.files)


async def read_candidate_changes(git: Git, base: CommitId, candidate: CommitId) -> CandidateChanges:
    """Return the changes from one commit to another; renames are a removal and an addition.

    Raises:
        GitError: one of them does not exist.
    """
    files = await _read_files(git, base, candidate, await compare_trees(git, base, candidate))
    changed = await diff_trees(git, base, candidate)
    sizes = {}
    for file in changed.files:
        sizes[file.path] = file.added + file.removed
    return CandidateChanges(files, _list_added_lines(changed), tuple(_iterate_hunks(changed)), sizes)


async def read_changed_files(git: Git, old: TreeId, new: TreeId) -> tuple[ChangedFile, ...]:
    """Return what differs between two trees, with contents as far as a rule needs them.

    Raises:
        GitError: one of them does not exist.
    """
    return await _read_files(git, old, new, await compare_trees(git, old, new))


async def _read_files(git: Git, base: str, candidate: str, delta: Sequence[TreeChange]) -> tuple[ChangedFile, ...]:
    looked = sorted(delta, key=lambda change: not needs_content(change.path))[:_MOST_FILES]
    old = await _read_contents(git, base, [c.path for c in looked if c.old_mode])
    new = await _read_contents(git, candidate, [c.path for c in looked if c.new_mode])
    return tuple(
        ChangedFile(c.path, old.get(c.path), new.get(c.path), old_mode=c.old_mode, new_mode=c.new_mode) for c in delta
    )


async def _read_contents(git: Git, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
    names = []
    for path in paths:
        names.append(f"{commit}:{path}".encode("utf-8", "surrogateescape"))
    found = await read_objects(git, names)
    return {path: blob.content for path, blob in zip(paths, found, strict=True) if blob and blob.kind == "blob"}


def _list_added_lines(changed: Diff) -> tuple[AddedLine, ...]:
    return tuple(
        AddedLine(escape_path(file.path), line.new_number or 0, line.text)
        for file in changed.files
        for hunk in file.hunks
        for line in hunk.lines
        if line.kind == "+"
    )


def _iterate_hunks(changed: Diff) -> Iterator[DiffHunk]:
    for file in changed.files:
        for hunk in file.hunks:
            lines = hunk.lines
            first = next((line.new_number for line in lines if line.kind == "+"), hunk.new_start)
            removed, added = (tuple(line.text for line in lines if line.kind == kind) for kind in "-+")
            yield DiffHunk(escape_path(file.path), first or hunk.new_start, removed, added)


@dataclass(frozen=True)
class RestoredCommit:
    """A commit with some of its files as they are on another one; that one does not have those in `removed`."""

    commit: CommitId
    tree: TreeId
    removed: frozenset[str]


async def create_restored_commit(
    git: Git, commit: CommitId, source: CommitId, paths: Sequence[str], when: str, message: str
) -> RestoredCommit | None:
    """Return the commit with `paths` as `source` has them; None if that changes nothing."""
    wanted = frozenset(paths)
    back = {}
    for change in await compare_trees(git, commit, source):
        if change.path in wanted:
            back[change.path] = (change.new_mode, change.oid) if change.new_mode else None
    if not back:
        return None
    tree = await overlay_tree(git, await read_tree_id(git, commit), back)
    restored = await commit_tree(git, tree, [commit], message, when)
    removed = frozenset(path for path, entry in back.items() if entry is None)
    return RestoredCommit(CommitId(restored), TreeId(tree), removed)


async def find_secret_leaks(git: Git, redactor: Redactor, old: str, new: str) -> tuple[str, ...]:
    """Return which files of `new` hold which secret's value, in words, without files that held it in `old`.

    Raises:
        GitError: one of the two does not exist.
    """
    if not redactor.names:
        return ()
    changed = [change for change in await compare_trees(git, old, new) if change.new_mode not in (None, SUBMODULE)]
    contents = await read_blobs(git, [change.oid for change in changed])
    held = {}
    for change in changed:
        held[change.path] = set(redactor.find_secrets(contents[change.oid]))
    suspects = [path for path, names in held.items() if names]
    before = await read_objects(git, [f"{old}:{path}".encode() for path in suspects])
    for path, was in zip(suspects, before, strict=True):
        held[path] -= set(redactor.find_secrets(was.content)) if was else set()
    return tuple(f"{path} holds the value of {', '.join(sorted(held[path]))}" for path in suspects if held[path])
