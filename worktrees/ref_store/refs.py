"""Reading, moving and removing refs. What protects a landing is that `move_ref` compares and swaps."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from worktrees.errors import GitError, RefMoved
from worktrees.git import Git
from worktrees.locks.git_lock_files import get_locked_ref, remove_dead_locks
from worktrees.records import encode_records
from worktrees.ref_store.power_loss import sync_ref


async def read_ref(git: Git, ref: str) -> str | None:
    """Return what a full ref name such as `refs/heads/main` points at, None if it does not exist."""
    return (
        await git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", _require_full_name(ref), ok=(0, 1))
        or None
    )


async def move_ref(
    git: Git, ref: str, new: str, old: str | None, reason: str, others: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Point `ref` at `new` if it still points at `old`; with `old` None it must not exist. `reason` is for the reflog.

    `others` are refs that must point at given objects at the same moment; they are left as they are.

    Raises:
        RefMoved: it, or one of the others, points elsewhere by now.
        GitError: it could not be moved for another reason, such as a lock that a killed process has left.
    """
    await _update_ref(git, ref, _format_update(ref, new, old), old, reason, others)


async def remove_ref(
    git: Git, ref: str, old: str, reason: str, others: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Remove `ref` if it still points at `old`; `others` must point at given objects, as in `move_ref`.

    Raises:
        RefMoved: it, or one of the others, points elsewhere by now.
        GitError: it could not be removed for another reason.
    """
    await _update_ref(git, ref, f"{_format_deletion(ref)}{old}", old, reason, others)


async def _update_ref(git: Git, ref: str, line: str, old: str | None, reason: str, others: Mapping[str, str]) -> None:
    lines = [line]
    for name, object_ in others.items():
        lines.append(f"verify {_require_full_name(name)}\0{object_}")
    try:
        await git.run("update-ref", "-m", reason, "-z", "--stdin", stdin=encode_records(lines))
        await sync_ref(git, ref)
    except GitError as error:
        current = await read_ref(git, ref)
        if current == old and await _do_refs_match(git, others):
            raise
        raise RefMoved(
            f"{ref} was expected at {old or 'nothing'} but is at {current or 'nothing'}",
            error.args_,
            error.exit_code,
            error.stderr,
        ) from error


async def _do_refs_match(git: Git, refs: Mapping[str, str]) -> bool:
    for name, object_ in refs.items():
        if await read_ref(git, name) != object_:
            return False
    return True


async def move_refs(git: Git, moves: Mapping[str, tuple[str | None, str | None]], reason: str) -> None:
    """Move many refs, all or none: each name with what it is to point at and what it points at now (None: nothing).

    One that is to point at nothing is removed.

    Raises:
        GitError: one of them points elsewhere by now, is locked, or cannot exist beside another ref.
    """
    lines = []
    for ref, (new, old) in moves.items():
        if new is not None:
            lines.append(_format_update(ref, new, old))
        elif old is not None:
            lines.append(f"{_format_deletion(ref)}{old}")
    if lines:
        await git.run("update-ref", "-z", "-m", reason, "--stdin", stdin=encode_records(lines))


async def set_ref(git: Git, ref: str, new: str) -> None:
    """Point `ref` at `new`, wherever it pointed before."""
    await git.run("update-ref", _require_full_name(ref), new)
    await sync_ref(git, ref)


async def delete_refs(git: Git, refs: Sequence[str]) -> None:
    """Remove refs, all in one transaction; those that do not exist are no error."""
    if refs:
        await git.run("update-ref", "-z", "--stdin", stdin=encode_records(map(_format_deletion, refs)))


async def list_refs(git: Git, prefix: str) -> dict[str, str]:
    """Return the refs below a prefix such as `refs/orchestrate/<run>`, with what each points at."""
    listing = await git.run_text("for-each-ref", "--format=%(refname) %(objectname)", _require_full_name(prefix))
    found = {}
    for line in listing.splitlines():
        name, _, oid = line.rpartition(" ")
        found[name] = oid
    return found


async def remove_dead_ref_locks(git: Git, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Remove the lock files that dead processes left at or below our own prefixes; return the refs they locked.

    Takes a second if there is any lock. A living process that may hold one is waited for.

    Raises:
        LockedRepository: such a process still holds it after ten seconds, or it cannot be removed.
    """
    places = []
    for prefix in prefixes:
        places.append(git.git_dir / _require_full_name(prefix).rstrip("/"))
    locks = await remove_dead_locks(git.git_dir, places)
    return tuple(sorted(map(partial(get_locked_ref, git.git_dir), locks)))


def _format_update(ref: str, new: str, old: str | None) -> str:
    return f"update {_require_full_name(ref)}\0{new}\0{old or '0' * len(new)}"


def _format_deletion(ref: str) -> str:
    return f"delete {_require_full_name(ref)}\0"


def _require_full_name(ref: str) -> str:
    if not ref.startswith("refs/") or ".." in ref or "\0" in ref:
        raise GitError(f"{ref!r} is no full ref name: it must begin with refs/")
    return ref
