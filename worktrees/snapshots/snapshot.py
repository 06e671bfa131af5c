"""A worktree's content as a commit, made from outside: nothing inside is asked, obeyed or changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread

from worktrees.checkouts.tree_checkout import copy_index, list_changed_files, list_index_files, read_index_tree
from worktrees.checkouts.worktree import Worktree
from worktrees.diffs.tree_changes import SUBMODULE
from worktrees.errors import GitError, GitTimeout, SnapshotTooLarge
from worktrees.git import Git
from worktrees.git_process import GitOutput
from worktrees.object_store.merge import EPOCH_DATE, commit_tree
from worktrees.object_store.trees import remember_tree
from worktrees.records import encode_records, split_records
from worktrees.ref_store.refs import set_ref
from worktrees.snapshots.screening import (
    ScreenedChanges,
    SnapshotLimits,
    WorktreeChanges,
    format_reasons,
    limit_lines,
    screen_changes,
)

_LISTING_BYTES = 256 * 1024 * 1024
_ADD = ("update-index", "--add", "--replace", "-z", "--stdin")
_REMOVE = ("update-index", "--force-remove", "-z", "--stdin")


@dataclass(frozen=True)
class WorktreeSnapshot:
    """A worktree's content as a commit; `dropped` names what was left out, as `path: reason`.

    `flagged` names in the same way what is in it although a reviewer should look: files that run unasked, and such.
    Of more than a thousand each, the last line says how many more there are.
    """

    commit: str
    tree: str
    dropped: tuple[str, ...]
    flagged: tuple[str, ...] = ()


async def snapshot_worktree(
    worktree: Worktree,
    message: str,
    ref: str | None,
    parent: str | None = None,
    when: str = EPOCH_DATE,
    limits: SnapshotLimits | None = None,
    withheld: Sequence[Path] = (),
) -> WorktreeSnapshot:
    """Commit what is in the worktree, without what git ignores, and point `ref` at the commit.

    The same content, message, parent and date always give the same commit. What may not be committed stays as it was
    in the tree the worktree was leased at or restored to, and is named in the result.

    Args:
        worktree: where nothing may be running that writes.
        message: the commit's message.
        ref: a full ref name, or None for a commit that nothing points at.
        parent: the commit's parent; the commit the worktree was leased at by default.
        when: the commit's date, ISO 8601.
        limits: what is too much; `Limits()` by default.
        withheld: files of which no copy may be in it.

    Raises:
        TooManyFiles: more files, or more bytes in them, are changed than the limits allow, or listing them takes too
            long.
        GitError: git could not do it.
    """
    with copy_index(worktree.admin) as index:
        git = worktree.git.with_paths(index=index)
        if read_index_tree(worktree.admin, worktree.owner) is None:
            await _reset_index(git, worktree.commit)
        tree, dropped, flagged = await _stage_changes(git, worktree, limits or SnapshotLimits(), withheld)
    taken = WorktreeSnapshot("", tree, dropped, flagged)
    return await commit_snapshot_again(worktree, taken, message, ref, parent, when)


async def commit_snapshot_again(
    worktree: Worktree,
    taken: WorktreeSnapshot,
    message: str,
    ref: str | None,
    parent: str | None = None,
    when: str = EPOCH_DATE,
) -> WorktreeSnapshot:
    """Commit the content of a snapshot, as `snapshot_worktree` does; for a worktree that has not changed since.

    Raises:
        GitError: git could not do it.
    """
    commit = await commit_tree(worktree.git, taken.tree, [parent or worktree.commit], message, when)
    remember_tree(worktree.git, commit, taken.tree)
    if ref is not None:
        await set_ref(worktree.git, ref, commit)
    return replace(taken, commit=commit)


async def _reset_index(git: Git, commit: str) -> None:
    """Begin with an index that holds nothing but the commit: somebody else wrote the worktree's."""
    assert git.index
    git.index.unlink(missing_ok=True)
    await git.run("read-tree", commit)
    await git.run("update-index", "-q", "--refresh", ok=(0, 1))


async def _stage_changes(
    git: Git, worktree: Worktree, limits: SnapshotLimits, withheld: Sequence[Path]
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the tree, what was left out of it, and what in it is to be looked at."""
    changes = await _list_changes(git)
    if changes.count > limits.files:
        raise SnapshotTooLarge(
            f"{worktree.root} has {changes.count} changed files, of which a snapshot may have {limits.files}: "
            f"have git ignore what need not be committed, or remove it"
        )
    screened = await to_thread.run_sync(screen_changes, worktree.root, changes, limits, withheld)
    _check_size(worktree, screened, limits)
    if screened.removed:
        await git.run(*_REMOVE, stdin=encode_records(screened.removed))
    refused = await _add_files(git, screened.accepted)
    dropped, flagged = (
        limit_lines((*screened.dropped, *format_reasons(refused))),
        limit_lines(screened.flagged),
    )
    return await git.run_text("write-tree"), dropped, flagged


def _check_size(worktree: Worktree, screened: ScreenedChanges, limits: SnapshotLimits) -> None:
    if screened.size_bytes > limits.total_bytes:
        raise SnapshotTooLarge(
            f"{worktree.root} has {screened.size_bytes / 1024**2:.1f} MiB in changed files, of which a snapshot may "
            f"have {limits.total_bytes / 1024**2:g}: have git ignore what need not be committed, or remove it"
        )


async def _list_changes(git: Git) -> WorktreeChanges:
    tracked = await list_changed_files(git, _LISTING_BYTES)
    others = await _list_untracked(git)
    if others.is_cut:
        raise SnapshotTooLarge(f"the names of the new files in {git.work_tree} take more than {_LISTING_BYTES} bytes")
    changed, removed, submodules = [], [], []
    for meta, path in tracked:
        if meta.endswith("D"):
            removed.append(path)
        elif meta.startswith(f":{SUBMODULE}"):
            submodules.append(path)
        else:
            changed.append(path)
    return WorktreeChanges(
        changed=tuple(changed),
        removed=tuple(removed),
        untracked=tuple(split_records(others.text)),
        submodules=tuple(submodules),
    )


async def _list_untracked(git: Git) -> GitOutput:
    try:
        return await list_index_files(git, "--others", "--exclude-standard", limit_bytes=_LISTING_BYTES)
    except GitTimeout as error:
        raise SnapshotTooLarge(str(error)) from error
    except GitError as error:
        if "Out of memory" in error.stderr:
            raise SnapshotTooLarge(f"the ignore files in {git.work_tree} are too large to be read") from error
        raise


async def _add_files(git: Git, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """Put files into the index; gives those that git refuses, found by halving, with its reasons."""
    if not paths:
        return []
    try:
        await git.run(*_ADD, stdin=encode_records(paths))
    except GitError as error:
        if len(paths) == 1:
            return [(paths[0], f"git refuses it ({' '.join(error.stderr.split())})")]
        middle = len(paths) // 2
        return [*await _add_files(git, paths[:middle]), *await _add_files(git, paths[middle:])]
    return []
