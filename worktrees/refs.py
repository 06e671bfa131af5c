"""Reading, moving and removing refs. What protects a landing is that `move_ref` compares and swaps."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from anyio import to_thread

from worktrees.errors import GitError, RefMoved
from worktrees.git import Git


async def read_ref(git: Git, ref: str) -> str | None:
    """What a full ref name such as `refs/heads/main` points at, None if it does not exist."""
    return await git.text("rev-parse", "--verify", "--quiet", "--end-of-options", _full(ref), ok=(0, 1)) or None


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


async def delete_refs(git: Git, refs: Sequence[str]) -> None:
    """Remove refs, all in one transaction; those that do not exist are no error."""
    if refs:
        await git.run("update-ref", "-z", "--stdin", stdin=b"".join(_deletion(ref) for ref in refs))


async def list_refs(git: Git, prefix: str) -> dict[str, str]:
    """The refs below a prefix such as `refs/orchestrate/<run>`, with what each points at."""
    listing = await git.text("for-each-ref", "--format=%(refname) %(objectname)", _full(prefix))
    return dict(_pair(line) for line in listing.splitlines())


async def sweep_ref_locks(git: Git, prefixes: Sequence[str], older_than_s: float = 0.0) -> tuple[str, ...]:
    """Remove the lock files that killed processes have left at or below our own prefixes; gives the refs they locked.

    The caller must know that no git process is at work on these refs; git holds such a lock for milliseconds, so one
    that is much older tells the same.
    """
    places = [_full(prefix).rstrip("/") for prefix in prefixes]
    return await to_thread.run_sync(_sweep, git.git_dir, places, older_than_s)


async def list_ref_locks(git: Git, prefix: str, older_than_s: float = 0.0) -> tuple[str, ...]:
    """The refs at or below a prefix of ours that a lock file keeps from being moved, by a process dead or alive."""
    return await to_thread.run_sync(_locked, git.git_dir, _full(prefix).rstrip("/"), older_than_s)


def _locked(git_dir: Path, prefix: str, older_than_s: float) -> tuple[str, ...]:
    return tuple(_ref(git_dir, lock) for lock in _found(git_dir, [prefix], older_than_s))


def _sweep(git_dir: Path, prefixes: Sequence[str], older_than_s: float) -> tuple[str, ...]:
    locks = _found(git_dir, prefixes, older_than_s)
    for lock in locks:
        lock.unlink(missing_ok=True)
    return tuple(_ref(git_dir, lock) for lock in locks)


def _found(git_dir: Path, prefixes: Sequence[str], older_than_s: float) -> list[Path]:
    locks = {lock for prefix in prefixes for lock in _locks(git_dir / prefix)}
    return sorted(lock for lock in locks if not older_than_s or _age_s(lock) > older_than_s)


def _ref(git_dir: Path, lock: Path) -> str:
    return str(lock.relative_to(git_dir)).removesuffix(".lock")


def _age_s(lock: Path) -> float:
    with suppress(FileNotFoundError):
        return time.time() - lock.stat(follow_symlinks=False).st_mtime
    return 0.0


def _locks(place: Path) -> Iterator[Path]:
    own = place.with_name(f"{place.name}.lock")
    if own.is_file():
        yield own
    for directory, _, files in os.walk(place):
        yield from (Path(directory, name) for name in files if name.endswith(".lock"))


def _deletion(ref: str) -> bytes:
    return f"delete {_full(ref)}\0\0".encode("utf-8", "surrogateescape")


def _full(ref: str) -> str:
    if not ref.startswith("refs/") or ".." in ref or "\0" in ref:
        raise GitError(f"{ref!r} is no full ref name: it must begin with refs/")
    return ref


def _pair(line: str) -> tuple[str, str]:
    name, _, oid = line.rpartition(" ")
    return name, oid
