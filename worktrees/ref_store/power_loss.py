"""Remains of a power cut besides locks: refs and loose objects without content, names that did not reach the disk."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from worktrees.durable_files import sync_directory, sync_file
from worktrees.errors import GitError
from worktrees.git import Git

_SOUND = re.compile(rb"(?:ref: \S.*|[0-9a-f]{40}|[0-9a-f]{64})\s*", re.DOTALL)
_ENTRY = re.compile(r"[0-9a-f]{40,64} ([0-9a-f]{40}|[0-9a-f]{64}) ")
_OBJECT = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
_REF_BYTES = 4096
_LOG_BYTES = 65536


async def find_broken_refs(git: Git, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the loose refs at or below the prefixes whose files are empty or hold what git never writes."""
    return await to_thread.run_sync(find_broken_refs_sync, git, prefixes)


def find_broken_refs_sync(git: Git, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the same as `find_broken_refs`. Blocks."""
    return tuple(sorted(set(_find_broken(git.git_dir, prefixes))))


def _find_broken(git_dir: Path, prefixes: Sequence[str]) -> Iterator[str]:
    for prefix in prefixes:
        place = git_dir / prefix
        if place.is_file():
            files = [place]
        else:
            files = [Path(at, name) for at, _, names in os.walk(place) for name in names]
        for file in files:
            if not file.name.endswith(".lock") and not file.is_symlink() and _is_broken(file):
                yield str(file.relative_to(git_dir))


def _is_broken(file: Path) -> bool:
    with suppress(FileNotFoundError), file.open("rb") as opened:
        return _SOUND.fullmatch(opened.read(_REF_BYTES)) is None
    return False


async def replace_broken_ref(git: Git, ref: str, new: str | None) -> None:
    """Let a broken ref, which git can neither move nor delete, point at `new`, or remove it; all at once or not at all.

    It is looked at again under git's lock.

    Raises:
        GitError: somebody holds its lock, or it cannot be written.
    """
    try:
        await to_thread.run_sync(_replace_ref_file, git.git_dir / ref, new)
    except OSError as error:
        raise GitError(f"the broken ref {git.git_dir / ref} cannot be replaced: {error.strerror}") from error


def _replace_ref_file(file: Path, new: str | None) -> None:
    lock = file.with_name(f"{file.name}.lock")
    with lock.open("x", encoding="ascii") as draft:
        draft.write(f"{new}\n" if new else "")
    sync_file(lock)
    if not _is_broken(file):
        lock.unlink()
    elif new:
        lock.replace(file)
    else:
        file.unlink()
        lock.unlink()
    sync_directory(file.parent)


async def read_last_move(git: Git, ref: str) -> str | None:
    """Return where the reflog says that a ref was last put, None if it has none or its end cannot be read."""
    return await to_thread.run_sync(_read_last_move, git.git_dir / "logs" / ref)


def _read_last_move(log: Path) -> str | None:
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
        for line in reversed(file.read().decode("utf-8", "replace").splitlines()):
            if entry := _ENTRY.match(line):
                return entry[1]
    return None


async def remove_empty_objects(git: Git, since_s: float) -> tuple[str, ...]:
    """Remove loose objects of no bytes that were made since then, and return their ids.

    None is ever sound, and git writes no object whose file is there: it would take the empty one for it.
    `since_s` is in seconds since 1970.
    """
    return await to_thread.run_sync(lambda: tuple(_remove_empty_objects(git.git_dir / "objects", since_s)))


def _remove_empty_objects(objects: Path, since_s: float) -> Iterator[str]:
    for number in range(256):
        folder = objects / f"{number:02x}"
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if _OBJECT.fullmatch(entry.name) and _is_empty_since(entry, since_s):
                    Path(entry.path).unlink()
                    yield folder.name + entry.name


def _is_empty_since(entry: "os.DirEntry[str]", since_s: float) -> bool:
    found = entry.stat(follow_symlinks=False)
    return found.st_size == 0 and found.st_mtime >= since_s


async def sync_ref(git: Git, ref: str) -> None:
    """Have the disk keep the name of a ref's file: git syncs its content, and not that it stands under its name.

    Without it a ref could be back where it was after a power cut, while a journal on another disk says that it moved.
    """
    await to_thread.run_sync(_sync_existing, (git.git_dir / ref).parent)


def _sync_existing(directory: Path) -> None:
    with suppress(FileNotFoundError):  # git keeps refs elsewhere
        sync_directory(directory)
