"""Writing a tree into a worktree, and knowing which tree its index holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from worktrees.errors import GitError
from worktrees.git import Git

_STATE = "orchestrate-tree"
_PRIVATE = "orchestrate-index-"
_DIFFERENT = ("diff-files", "--name-only", "-z", "--ignore-submodules=dirty")
_REWRITE = ("checkout-index", "--force", "--index", "-z", "--stdin")


async def check_out(git: Git, admin: Path, tree: str) -> bool:
    """Make the index and all tracked files equal to `tree`; whether any file was written.

    Costs a look at each file when the index holds the tree already, else also the trees' difference.

    Raises:
        GitError: git could not do it.
    """
    if index_tree(admin) == tree:
        different = (await git.run(*_DIFFERENT)).stdout
        if different:
            _forget(admin)
            await git.run(*_REWRITE, stdin=different)
    else:
        _forget(admin)
        await _read_tree(git, admin, tree)
        different = b"all"
    remember(admin, tree)
    return bool(different)


async def _read_tree(git: Git, admin: Path, tree: str) -> None:
    command = ("read-tree", "--reset", "-u", tree)
    try:
        await git.run(*command)
    except GitError:
        (admin / "index").unlink(missing_ok=True)  # a damaged index; git makes a new one
        await git.run(*command)


async def refresh(git: Git, admin: Path, tree: str) -> None:
    """Bring the index up to date with files whose owner has changed."""
    _forget(admin)
    await git.run("update-index", "-q", "--refresh", ok=(0, 1))
    remember(admin, tree)


def index_tree(admin: Path) -> str | None:
    """The tree that the index holds, None if anyone but us may have written it since."""
    with suppress(OSError):
        tree, _, seal = (admin / _STATE).read_text("ascii", "replace").partition(" ")
        return tree if seal == _seal(admin) else None
    return None


def remember(admin: Path, tree: str) -> None:
    """Note that the index holds `tree` now."""
    (admin / _STATE).write_text(f"{tree} {_seal(admin)}", "ascii")


def _forget(admin: Path) -> None:
    (admin / _STATE).unlink(missing_ok=True)


def _seal(admin: Path) -> str:
    found = (admin / "index").stat(follow_symlinks=False)
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


@contextmanager
def private_index(admin: Path) -> Iterator[Path]:
    """A copy of the index for the length of the block, in the worktree's admin directory."""
    descriptor, name = mkstemp(prefix=_PRIVATE, dir=admin)
    try:
        with os.fdopen(descriptor, "wb") as copy:
            copy.write((admin / "index").read_bytes())
        os.utime(name, ns=_times(admin / "index"))
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        Path(f"{name}.lock").unlink(missing_ok=True)


def _times(file: Path) -> tuple[int, int]:
    """The index's own times: git compares its mtime with those of the files, so a copy has to keep it."""
    found = file.stat()
    return found.st_atime_ns, found.st_mtime_ns


def clear_leftovers(admin: Path) -> None:
    """Remove locks and private indexes that a killed process left; the caller must hold the worktree."""
    for left in (*admin.glob("*.lock"), *admin.glob(f"{_PRIVATE}*")):
        left.unlink(missing_ok=True)
