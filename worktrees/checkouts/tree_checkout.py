"""Writing a tree into a worktree, and knowing which tree its index holds."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from tempfile import mkstemp

from anyio import fail_after

from worktrees.diffs.tree_changes import TreeChange
from worktrees.errors import GitError, GitTimeout, SnapshotTooLarge
from worktrees.git import Git
from worktrees.git_process import GitOutput
from worktrees.records import encode_records

_STATE = "orchestrate-tree"
_PRIVATE = "orchestrate-index-"
_LOOK_TIMEOUT_S = 300.0
_LIST_TIMEOUT_S = 120.0
_READ_TIMEOUT_S = 1800.0


async def find_files_to_write(
    git: Git, admin: Path, tree: str, delta: Sequence[TreeChange] | None
) -> frozenset[str] | None:
    """Bring the index to `tree`; return the files that have to be written then, None if all are as they should be.

    With `delta`, what distinguishes the tree from the one that the index holds, the cost is a look at each file;
    without it also a walk through the whole tree, and the writing. What the index holds is to be remembered by the
    caller, once everything else is in place too.

    Raises:
        GitError: git could not do it.
    """
    if delta is None:
        await _read_tree(git, admin, tree)
        return None
    try:
        changed = set(map(itemgetter(1), await list_changed_files(git)))
    except GitError:
        (admin / "index").unlink()
        await _read_tree(git, admin, tree)
        return None
    return await change_index(git, admin, changed, delta)


async def change_index(git: Git, admin: Path, changed: set[str], delta: Sequence[TreeChange]) -> frozenset[str]:
    """Bring the index from one tree to another; return the files that differ or were changed.

    Raises:
        GitError: git could not do it.
    """
    if not (changed or delta):
        return frozenset()
    _forget_state(admin)
    lines, differing = [], set(changed)
    for change in delta:
        lines.append(f"{change.new_mode or 0} {change.oid}\t{change.path}")
        if change.new_mode is None:
            differing.discard(change.path)
        else:
            differing.add(change.path)
    if lines:
        await git.run("update-index", "-z", "--index-info", stdin=encode_records(lines))
    return frozenset(differing)


async def _read_tree(git: Git, admin: Path, tree: str) -> None:
    command = ("read-tree", "--reset", "-u", tree)
    _forget_state(admin)
    try:
        with fail_after(_READ_TIMEOUT_S):
            await git.run(*command)
    except (GitError, TimeoutError):
        _forget_state(admin)
        (admin / "index").unlink(missing_ok=True)  # damaged, or describing files that take for ever to compare
        await git.run(*command)


async def list_changed_files(git: Git, limit_bytes: int | None = None) -> list[tuple[str, str]]:
    """Return the tracked files that may differ from the index, each with git's raw record on it.

    Raises:
        TooManyFiles: naming them would take more than `limit_bytes`.
        GitError: git could not tell, or not in good time: the last resort of git is to compare contents, and a
            worker may have left files of any size.
    """
    command = ("diff-files", "--raw", "-z", "--ignore-submodules=dirty")
    try:
        with fail_after(_LOOK_TIMEOUT_S):
            raw = await git.run(*command, limit_bytes=limit_bytes)
    except TimeoutError as error:
        where = f"looking for changes in {git.work_tree}"
        raise GitError(f"{where} took longer than {_LOOK_TIMEOUT_S:.0f} s: is there a huge file?", command) from error
    if raw.is_cut:
        raise SnapshotTooLarge(f"the names of the changed files in {git.work_tree} take more than {limit_bytes} bytes")
    fields = raw.text.split("\0")
    return list(zip(fields[0::2], fields[1::2], strict=False))


async def list_index_files(
    git: Git, *options: str, env: Mapping[str, str] | None = None, limit_bytes: int | None = None
) -> GitOutput:
    """Return what `ls-files` lists, names ended by NUL characters.

    Raises:
        TookTooLong: ignore rules and globs are patterns, of which some take for ever on a few deep directories.
        GitError: git could not tell.
    """
    command = ("ls-files", "-z", *options)
    try:
        with fail_after(_LIST_TIMEOUT_S):
            return await git.run(*command, env=env, limit_bytes=limit_bytes)
    except TimeoutError as error:
        where = f"listing the files in {git.work_tree}"
        words = f"{where} took longer than {_LIST_TIMEOUT_S:.0f} s: are there ignore rules or a glob of many `**`?"
        raise GitTimeout(words, command) from error


async def refresh_index(git: Git) -> None:
    """Bring the index up to date with files that were written, or whose owner has changed."""
    await git.run("update-index", "-q", "--refresh", ok=(0, 1))


def read_index_tree(admin: Path, owner: int | None) -> str | None:
    """Return the tree that index and worktree were last made equal to for this owner of the files.

    None if that was not finished, or anyone but us may have written the index since.
    """
    with suppress(OSError):
        tree, _, seal = (admin / _STATE).read_text("ascii", "replace").partition(" ")
        if seal == _format_seal(admin, owner):
            return tree
        return None
    return None


def record_index_tree(admin: Path, tree: str, owner: int | None) -> None:
    """Note that index and worktree have been made equal to `tree`, and that the files belong to `owner`."""
    (admin / _STATE).write_text(f"{tree} {_format_seal(admin, owner)}", "ascii")


def _forget_state(admin: Path) -> None:
    """Remove the note and the lock before the index is written.

    A git that was killed at it may have left its lock, and no other may be at it.
    """
    (admin / _STATE).unlink(missing_ok=True)
    (admin / "index.lock").unlink(missing_ok=True)


def _format_seal(admin: Path, owner: int | None) -> str:
    found = (admin / "index").stat(follow_symlinks=False)
    return f"{owner} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


@contextmanager
def copy_index(admin: Path) -> Iterator[Path]:
    """Yield a copy of the index for the length of the block, in the worktree's admin directory."""
    descriptor, name = mkstemp(prefix=_PRIVATE, dir=admin)
    try:
        with os.fdopen(descriptor, "wb") as copy:
            copy.write((admin / "index").read_bytes())
        os.utime(name, ns=_read_times(admin / "index"))
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        Path(f"{name}.lock").unlink(missing_ok=True)


def _read_times(file: Path) -> tuple[int, int]:
    """Return the index's own times: git compares its mtime with those of the files, so a copy has to keep it."""
    found = file.stat()
    return found.st_atime_ns, found.st_mtime_ns


def remove_leftovers(admin: Path) -> None:
    """Remove locks and private indexes that a killed process left; the caller must hold the worktree."""
    for left in (*admin.glob("*.lock"), *admin.glob(f"{_PRIVATE}*")):
        left.unlink(missing_ok=True)
