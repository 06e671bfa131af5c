"""Reading, moving and removing refs. What protects a landing is that `move_ref` compares and swaps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from worktrees.errors import GitError, RefMoved
from worktrees.git import Git
from worktrees.locks.git_lock_files import remove_dead_locks
from worktrees.ref_store.power_loss import sync_ref


async def read_ref(git: Git, ref: str) -> str | None:
    """What a full ref name such as `refs/heads/main` points at, None if it does not exist."""
    return await git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", _full(ref), ok=(0, 1)) or None


async def move_ref(
    git: Git, ref: str, new: str, old: str | None, reason: str, others: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Point `ref` at `new` if it still points at `old`; with `old` None it must not exist. `reason` is for the reflog.

    `others` are refs that must point at given objects at the same moment; they are left as they are.

    Raises:
        RefMoved: it, or one of the others, points elsewhere by now.
        GitError: it could not be moved for another reason, such as a lock that a killed process has left.
    """
    try:
        lines = [f"update {_full(ref)}\0{new}\0{old or '0' * len(new)}\0"]
        lines += [f"verify {_full(name)}\0{object_}\0" for name, object_ in others.items()]
        stdin = "".join(lines).encode("utf-8", "surrogateescape")
        await git.run("update-ref", "-m", reason, "-z", "--stdin", stdin=stdin)
        await sync_ref(git, ref)
    except GitError as error:
        current = await read_ref(git, ref)
        if current == old and all([await read_ref(git, name) == object_ for name, object_ in others.items()]):
            raise
        raise RefMoved(
            f"{ref} was expected at {old or 'nothing'} but is at {current or 'nothing'}",
            error.args_,
            error.exit_code,
            error.stderr,
        ) from error


async def move_refs(git: Git, moves: Mapping[str, tuple[str, str | None]], reason: str) -> None:
    """Move many refs, all or none: each name with what it is to point at and what it points at now (None: nothing).

    Raises:
        GitError: one of them points elsewhere by now, is locked, or cannot exist beside another ref.
    """
    if not moves:
        return
    zero = "0" * len(next(iter(moves.values()))[0])
    asked = "".join(f"update {_full(ref)}\0{new}\0{old or zero}\0" for ref, (new, old) in moves.items())
    options = ("update-ref", "-z", "-m", reason, "--stdin")
    await git.run(*options, stdin=asked.encode("utf-8", "surrogateescape"))


async def set_ref(git: Git, ref: str, new: str) -> None:
    """Point `ref` at `new`, wherever it pointed before."""
    await git.run("update-ref", _full(ref), new)
    await sync_ref(git, ref)


async def delete_refs(git: Git, refs: Sequence[str]) -> None:
    """Remove refs, all in one transaction; those that do not exist are no error."""
    if refs:
        await git.run("update-ref", "-z", "--stdin", stdin=b"".join(_deletion(ref) for ref in refs))


async def list_refs(git: Git, prefix: str) -> dict[str, str]:
    """The refs below a prefix such as `refs/orchestrate/<run>`, with what each points at."""
    listing = await git.run_text("for-each-ref", "--format=%(refname) %(objectname)", _full(prefix))
    return dict(_pair(line) for line in listing.splitlines())


async def remove_dead_ref_locks(git: Git, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Remove the lock files that dead processes left at or below our own prefixes; return the refs they locked.

    Takes a second if there is any lock. A living process that may hold one is waited for.

    Raises:
        LockedRepository: such a process still holds it after ten seconds, or it cannot be removed.
    """
    removed = await remove_dead_locks(git.git_dir, _places(git, prefixes))
    return tuple(sorted(_ref(git, lock) for lock in removed))


def _places(git: Git, prefixes: Sequence[str]) -> list[Path]:
    return [git.git_dir / _full(prefix).rstrip("/") for prefix in prefixes]


def _ref(git: Git, lock: Path) -> str:
    return str(lock.relative_to(git.git_dir)).removesuffix(".lock")


def _deletion(ref: str) -> bytes:
    return f"delete {_full(ref)}\0\0".encode("utf-8", "surrogateescape")


def _full(ref: str) -> str:
    if not ref.startswith("refs/") or ".." in ref or "\0" in ref:
        raise GitError(f"{ref!r} is no full ref name: it must begin with refs/")
    return ref


def _pair(line: str) -> tuple[str, str]:
    name, _, oid = line.rpartition(" ")
    return name, oid
