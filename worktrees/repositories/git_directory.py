"""Examination of a git directory before git reads it: no links to other places of the host, and nothing that hangs.

Git follows symbolic links and waits in pipes anywhere in a git directory. One that came from a stranger could name any
file of the user's in that way. Only its objects may lie elsewhere, as after `git clone --shared`; see
`alternates_copy`.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from worktrees.errors import NotARepository
from worktrees.repositories.discovery import Checkout

_READ_BY_GIT = frozenset(
    {
        *("HEAD", "config", "config.worktree", "index", "packed-refs", "shallow", "commondir", "gitdir", "refs"),
        *("logs", "info", "worktrees", "objects", "orchestrate.lock"),
    }
)
"""Other names, such as `hooks` or `lfs`, are never looked into by us."""
_WALKED = ("refs", "logs", "info")
_FAN_OUT = re.compile("[0-9a-f]{2}")
_NAMED_IN_OBJECTS = {"info": ("", "commit-graphs"), "pack": ("", "multi-pack-index.d")}
"""Directories among objects, each with what git reads in it: its own files and those of one directory."""
_LOOSE = re.compile("[0-9a-f]{38}|[0-9a-f]{62}")
_MAX_ALTERNATES = 100


def check_git_directory(checkout: Checkout) -> bool:
    """Examine the git directory of a checkout; return True if its objects lie elsewhere, by alternates or links.

    Raises:
        NotARepository: a file that git would read is a link out of the git directory, or no file at all.
        OSError: it cannot be looked into.
    """
    for place in dict.fromkeys((checkout.common_dir, checkout.git_dir)):
        for entry in _list_entries(place):
            if entry.name in _READ_BY_GIT and not _is_object_link(entry):
                _require_inside(entry, checkout)
    for name in _WALKED:
        for entry in _walk_entries(checkout.common_dir / name):
            _require_inside(entry, checkout)
    for entry in _list_entries(checkout.common_dir / "worktrees"):
        _require_inside(entry, checkout)
    return _check_objects(checkout.common_dir / "objects")


def _is_object_link(entry: os.DirEntry[str]) -> bool:
    return entry.name == "objects" and entry.is_symlink()


def _require_inside(entry: os.DirEntry[str], checkout: Checkout) -> None:
    if not _is_link(entry):
        return
    target = Path(os.path.realpath(entry.path))  # unlike `resolve`, also of a link to itself
    if not any(target.is_relative_to(place) for place in (checkout.common_dir, checkout.git_dir)):
        raise NotARepository(
            f"{entry.path} is a symbolic link to {target}, outside the git directory: a repository does not decide "
            "which other files of this machine are read. If you trust it, put a copy of the file or directory there"
        )


def _require_file_or_directory(place: Path) -> None:
    with suppress(OSError):  # a link that leads nowhere is no file to git either
        mode = place.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise NotARepository(
                f"{place} is a pipe, a socket or a device, which git would wait for without end: remove it, or clone "
                "the repository anew"
            )


def _check_objects(objects: Path) -> bool:
    """Look through an object directory and all that it borrows from; return True if it borrows from any."""
    links = [entry for entry in _list_object_entries(objects) if _is_link(entry)]
    todo = list(list_alternates(objects))
    known: set[Path] = set()
    while todo:
        place = todo.pop()
        if place in known:
            continue
        known.add(place)
        for entry in _list_object_entries(place):
            _is_link(entry)
        todo += list_alternates(place)
        if len(known) > _MAX_ALTERNATES:
            raise NotARepository(f"{objects} borrows from more than {_MAX_ALTERNATES} directories: clone it anew")
    return objects.is_symlink() or bool(links or known)


def _list_object_entries(objects: Path) -> Iterator[os.DirEntry[str]]:
    """Yield whatever git may read of an object directory."""
    for entry in _list_entries(objects):
        if entry.name in _NAMED_IN_OBJECTS:
            yield entry
            for name in _NAMED_IN_OBJECTS[entry.name]:
                yield from _list_entries(Path(entry.path, name))
        elif _FAN_OUT.fullmatch(entry.name):
            yield entry
            for inner in _list_entries(Path(entry.path)):
                if _LOOSE.fullmatch(inner.name):
                    yield inner


def _is_link(entry: os.DirEntry[str]) -> bool:
    """Return True for a symbolic link; refuse what is neither file nor directory."""
    if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
        _require_file_or_directory(Path(entry.path))
    return entry.is_symlink()


def list_alternates(objects: Path) -> Iterator[Path]:
    """Yield the directories that `info/alternates` names, as git reads them.

    Relative ones from the object directory.
    """
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for line in (objects / "info" / "alternates").read_bytes().split(b"\n"):
            if line and not line.startswith(b"#"):
                place = Path(os.path.normpath(objects / os.fsdecode(_unquote_line(line))))
                if place.is_dir():
                    yield place


def _unquote_line(line: bytes) -> bytes:
    if not line.startswith(b'"'):
        return line
    return line.rstrip().strip(b'"').decode("unicode_escape").encode("latin-1", "replace")


def _walk_entries(top: Path) -> Iterator[os.DirEntry[str]]:
    todo = [top]
    while todo:
        for entry in _list_entries(todo.pop()):
            yield entry
            if entry.is_dir(follow_symlinks=False):
                todo.append(Path(entry.path))


def _list_entries(place: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(place) as entries:
        yield from entries
