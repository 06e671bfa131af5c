"""Directories that nobody but their owner may enter: making them, and checking those that are there already.

One closed directory closes everything below it, whatever modes that has. So the outermost directory of ours is checked
whenever something is opened in it, together with the way that leads there.
"""

import errno
import grp
import os
import pwd
import stat
from pathlib import Path

from worktrees.durable_files import sync_directory
from worktrees.errors import DirectoryNotPrivate
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.path_rules import escape_path

_PRIVATE = 0o700
_PASSAGE = 0o711
_OTHERS = 0o077
_MOST_LINKS = 40
_WHOLE_RANGE = ["0", "0", "4294967295"]


def create_private_directory(path: Path) -> Path:
    """Create a directory, and the missing ones above it, for their owner alone; return it. One that exists stays.

    Raises:
        OSError: it cannot be made, or something else lies there.
    """
    if not path.is_dir():
        create_private_directory(path.parent)
        _make_directory(path, _PRIVATE)
    return path


def create_durable_directory(path: Path) -> Path:
    """Create a private directory, and the missing ones above it, so that the disk keeps their names; return it.

    Raises:
        OSError: it cannot be made, or something else lies there.
    """
    if not path.is_dir():
        create_durable_directory(path.parent)
        _make_directory(path, _PRIVATE)
        sync_directory(path.parent)
    return path


def create_private_root(path: Path) -> Path:
    """Create a directory for its owner alone in a place of the user's; return it. One that exists stays.

    Others can pass through the missing directories above it, which are made as well, but not see what lies in them:
    the user that commands of root run as without a sandbox has to come through.

    Raises:
        OSError: it cannot be made, or something else lies there.
    """
    missing = [place for place in path.parents if not place.is_dir()]
    for place in reversed(missing):
        _make_directory(place, _PASSAGE)
    return create_private_directory(path)


def _make_directory(path: Path, mode: int) -> None:
    try:
        path.mkdir(mode=mode)
    except FileExistsError as error:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
        return
    path.chmod(mode)  # below a directory that hands its group on it would hand it on as well


def secure_directory(path: Path) -> bool:
    """Check that nobody else can enter or replace a directory, and close one that is open; return True if it was.

    Of one that is missing, or cannot be opened, only the way to it is checked. Reads the modes of the path's parts.

    Raises:
        DirectoryNotPrivate: it belongs to somebody else, or others can write to it or change the way to it.
        OSError: it cannot be closed.
    """
    _require_own_way(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    with hold_descriptor(descriptor):
        return _close_to_others(path, descriptor)


def _close_to_others(path: Path, descriptor: int) -> bool:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise DirectoryNotPrivate(
            f"{_show_path(path)} belongs to {_name_user(found.st_uid)} and not to {_name_user(os.geteuid())}: work as "
            f"{_name_user(found.st_uid)}, or name another place with --state DIR"
        )
    if writers := _name_writers(found):
        raise DirectoryNotPrivate(
            f"{writers} can write to {_show_path(path)}, so what lies in it may not be ours: remove it, or if you "
            f"trust what it holds close it (chmod 700 {_show_path(path)}), or name another place with --state DIR"
        )
    mode = stat.S_IMODE(found.st_mode)
    if not mode & _find_excess_bits(found):
        return False
    try:
        os.fchmod(descriptor, mode & ~(_find_excess_bits(found) | stat.S_ISGID))
    except OSError as error:
        if error.errno != errno.EROFS:  # nothing new is written there, and its owner has to close it elsewhere
            raise
        return False
    return True


def _find_excess_bits(found: os.stat_result) -> int:
    """Return the bits that a directory of ours must not have.

    As root a foreign group may pass, which only root can set.
    """
    is_handed_on = os.geteuid() == 0 and found.st_gid != 0
    if is_handed_on:
        return _OTHERS & ~stat.S_IXGRP
    return _OTHERS


def _require_own_way(path: Path) -> None:
    """Raise DirectoryNotPrivate if somebody else can change a directory or a link on the way to `path`.

    The last part itself may be missing, and what is to be said of it is said by the caller.
    """
    here, links = Path("/"), 0
    todo = list(reversed(path.absolute().parts[1:]))
    while todo:
        _require_own_parent(path, here)
        if todo[-1] == "..":
            here = here.parent
        else:
            here = here / todo[-1]
        todo.pop()
        try:
            found = here.stat(follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS or not _is_trusted(found.st_uid):
                raise _build_way_error(path, here, _name_user(found.st_uid))
            target = here.readlink()
            if target.is_absolute():
                here = Path("/")
            else:
                here = here.parent
            todo += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _require_own_parent(path: Path, parent: Path) -> None:
    """Raise DirectoryNotPrivate if somebody else can rename what lies in a directory above `path`."""
    found = parent.stat(follow_symlinks=False)
    if not _is_trusted(found.st_uid):
        raise _build_way_error(path, parent, _name_user(found.st_uid))
    if not found.st_mode & stat.S_ISVTX and (writers := _name_writers(found)):
        raise _build_way_error(path, parent, writers)


def _build_way_error(path: Path, place: Path, who: str) -> DirectoryNotPrivate:
    return DirectoryNotPrivate(
        f"{who} can change {_show_path(place)}, through which the way to {_show_path(path)} leads, and put another "
        f"directory in its place: take that right away (chmod, chown), or name another place with --state DIR"
    )


def _is_trusted(uid: int) -> bool:
    """Return True for root, ourselves, and a user without an account here, as files of a container's host have."""
    if uid in {0, os.geteuid()} or _is_unmapped(uid):
        return True
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return True
    return False


def _is_unmapped(uid: int) -> bool:
    """Return True for whom a user namespace shows in place of all users that it does not know."""
    try:
        is_inside = Path("/proc/self/uid_map").read_text(encoding="ascii").split() != _WHOLE_RANGE
        return is_inside and uid == int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
    except OSError:
        return False


def _name_writers(found: os.stat_result) -> str:
    """Return who else can write to a directory, in words; empty if nobody can."""
    if found.st_mode & stat.S_IWOTH:
        return "every user"
    if found.st_mode & stat.S_IWGRP and not _is_private_group(found.st_gid):
        return f"group {_name_group(found.st_gid)}"
    return ""


def _is_private_group(gid: int) -> bool:
    """Return True if nobody but us and root is in a group, as in those that many systems make for each user."""
    if gid == 0:
        return True
    try:
        own = {"root", pwd.getpwuid(os.geteuid()).pw_name}
    except KeyError:
        own = {"root"}
    try:
        members = set(grp.getgrgid(gid).gr_mem)
    except KeyError:
        members = set()
    trusted = {0, os.geteuid()}
    return members <= own and all(user.pw_uid in trusted for user in pwd.getpwall() if user.pw_gid == gid)


def _name_user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _name_group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _show_path(path: Path) -> str:
    return escape_path(str(path))
