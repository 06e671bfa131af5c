"""Reads and writes regular files of a workspace from outside the sandbox, which a workspace cannot lure elsewhere.

Also makes the places in it where borrowed things are mounted, so that nothing inside diverts them.
"""

import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePosixPath

from orchestrator.errors import ToolRefused
from orchestrator.hands.files.safe_open import open_beneath
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.removal import open_root_directory, remove_entry

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_MAX_NAME_BYTES, _MAX_PATH_BYTES = 255, 4000

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "has a component that is not a directory",
    errno.EISDIR: "is a directory",
    errno.ELOOP: "is or leads through a symbolic link, which file tools do not follow",
    errno.EXDEV: "leads out of the workspace",
    errno.ENXIO: "is not a regular file",
    errno.EACCES: "may not be opened",
    errno.EPERM: "may not be opened",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EAGAIN: "keeps changing; try again",
}
_EMPTY_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK


def normalize_path(path: str) -> PurePosixPath:
    """Return the path relative to the workspace, without `.` components.

    Raises:
        ToolRefused: it is absolute, leaves the workspace, lies in `.git`, or has an unprintable or overlong name.
    """
    normalized = PurePosixPath(path)
    if not path or normalized.is_absolute() or ".." in normalized.parts or not normalized.parts:
        raise ToolRefused(f"{path!r} is no path in the workspace; give it relative to the repository, without `..`.")
    if any(unicodedata.category(c) in ("Cc", "Cf") for c in path):
        raise ToolRefused(f"{path!r} contains control or invisible characters; choose a printable name.")
    for part in normalized.parts:
        if is_git_name(part):
            raise ToolRefused(f"{path!r} lies in git's own directory, which is protected; use git commands instead.")
        if len(os.fsencode(part)) > _MAX_NAME_BYTES:
            raise ToolRefused(f"{part[:40]!r}… is too long for a file name; use at most {_MAX_NAME_BYTES} bytes.")
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise ToolRefused(f"The path {path[:40]!r}… is too long; use at most {_MAX_PATH_BYTES} bytes.")
    return normalized


def is_git_name(name: str) -> bool:
    """Return True if some file system takes the name for `.git`."""
    plain = name.casefold().rstrip(" .").partition(":")[0]
    return plain == ".git" or plain.startswith("git~")


def create_git_mount_point(root: Path, owner: int | None) -> None:
    """Make `.git` an empty directory in a checkout, whatever stands there; nobody outside looks into it.

    Raises:
        OSError: it cannot be made.
    """
    if (root / ".git").is_dir() and not (root / ".git").is_symlink():
        return
    with hold_descriptor(open_root_directory(root)) as directory:
        remove_entry(directory, ".git")
        os.mkdir(".git", 0o755, dir_fd=directory)
        if owner is not None:
            os.chown(".git", owner, owner, dir_fd=directory, follow_symlinks=False)


def read_file(root: Path, path: str, limit_bytes: int) -> bytes:
    """Return the content of a regular file below `root`.

    Raises:
        ToolRefused: it does not exist, is no regular file, lies outside, or is larger than the limit.
    """
    normalized = normalize_path(path)
    with _refuse_errors(path), open_root_folder(root) as base:
        fd = open_beneath(base, normalized, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with hold_descriptor(fd):
            return _read_content(fd, path, limit_bytes)


def _read_content(fd: int, path: str, limit_bytes: int) -> bytes:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise ToolRefused(f"{path} is {_describe_kind(found.st_mode)}, not a regular file.")
    if found.st_size <= limit_bytes:
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(limit_bytes + 1)  # it may have grown meanwhile
        if len(content) <= limit_bytes:
            return content
    size = max(found.st_size, limit_bytes + 1)
    raise ToolRefused(f"{path} has {size:,} bytes, more than the limit of {limit_bytes:,}; read a part of it.")


def write_file(root: Path, path: str, content: bytes, owner: int | None = None) -> None:
    """Replace or create a regular file below `root` in one step, creating directories; an existing mode is kept.

    `owner` is the uid that new files and directories get, None for our own.

    Raises:
        ToolRefused: the path is outside, protected, no regular file, or cannot be written.
    """
    normalized = normalize_path(path)
    with _refuse_errors(path), _open_parent(root, normalized.parent, owner) as parent:
        mode, kept_owner = _get_mode_and_owner(parent, normalized.name, path)
        temporary = f".orchestrate-{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        fd = open_beneath(parent, PurePosixPath(temporary), flags, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                _set_owner(fd, kept_owner or owner)
                os.fchmod(fd, mode)
            os.rename(temporary, normalized.name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)
            raise


def create_folders(root: Path, path: PurePosixPath, owner: int | None = None) -> None:
    """Make sure that a directory exists below `root`.

    Raises:
        ToolRefused: something else stands in its way.
    """
    with _refuse_errors(str(path)), _open_parent(root, path, owner):
        return


def _get_mode_and_owner(parent: int, name: str, path: str) -> tuple[int, int | None]:
    """Return mode and owner for the new file; refuse to replace anything but a regular file."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644, None
    if not stat.S_ISREG(found.st_mode):
        raise ToolRefused(f"{path} is {_describe_kind(found.st_mode)}, not a regular file; it is not replaced.")
    return found.st_mode & 0o777, found.st_uid


def _set_owner(fd: int, owner: int | None) -> None:
    if owner is not None and os.geteuid() == 0:
        os.fchown(fd, owner, owner)


def open_root_folder(root: Path) -> AbstractContextManager[int]:
    """Open the top of a workspace, or another directory of ours, while the block lasts; never by a link."""
    return hold_descriptor(os.open(root, _FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC))


@contextmanager
def _open_parent(root: Path, path: PurePosixPath, owner: int | None) -> Iterator[int]:
    """Open the directory `path` below `root`, creating it where it is missing."""
    with open_root_folder(root) as base:
        folder_fd = open_beneath(base, PurePosixPath("."), _FOLDER)
    try:
        for name in path.parts:
            inner = _open_or_create(folder_fd, name, owner)
            os.close(folder_fd)
            folder_fd = inner
        yield folder_fd
    finally:
        os.close(folder_fd)


def _open_or_create(folder_fd: int, name: str, owner: int | None) -> int:
    part = PurePosixPath(name)
    try:
        return open_beneath(folder_fd, part, _FOLDER)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=folder_fd)
    inner = open_beneath(folder_fd, part, _FOLDER)
    _set_owner(inner, owner)
    return inner


@contextmanager
def _refuse_errors(path: str) -> Iterator[None]:
    """Turn the kernel's errors into refusals that a model can read."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise ToolRefused(f"{path} {reason}.") from error


def _describe_kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something special")


def create_mount_points(root: Path, shared: Mapping[str, Path], owner: int | None) -> dict[str, Path]:
    """Make an empty file or directory in the workspace for each borrowed path; return those that can be mounted.

    `shared` are their names, each with the directory in which it lies. What the workspace's own tree holds at a place
    wins over what could be borrowed for it.
    """
    return {name: base for name, base in shared.items() if _create_mount_point(root, name, base, owner)}


def is_fixed_mount_point(name: str, base: Path) -> bool:
    """Return True if nothing inside a workspace can replace the mount point between its check and its use.

    True of directories at the top: their parent is a mount point itself.
    """
    return "/" not in name and (base / name).is_dir()


def remove_mount_points(root: Path, names: Iterable[str]) -> None:
    """Remove the empty files that `create_mount_points` made, before the workspace's content is looked at."""
    with open_root_folder(root) as base:
        for name in names:
            _remove_empty_file(base, PurePosixPath(name))


def _create_mount_point(root: Path, shared_name: str, base: Path, owner: int | None) -> bool:
    name, source = PurePosixPath(shared_name), base / shared_name
    try:
        if source.is_dir():
            create_folders(root, name, owner)
        elif source.is_file():
            create_folders(root, name.parent, owner)
        else:
            return False
        return _is_blank(root, name, source.is_dir())
    except (ToolRefused, OSError):
        return False  # something else stands there: a link, a file, a directory of the tree's own


def _is_blank(root: Path, name: PurePosixPath, is_folder: bool) -> bool:
    with open_root_folder(root) as base:
        flags = os.O_RDONLY | os.O_DIRECTORY if is_folder else _EMPTY_FILE_FLAGS | os.O_CREAT
        fd = open_beneath(base, name, flags, 0 if is_folder else 0o644)
    with hold_descriptor(fd):
        if is_folder:
            with os.scandir(fd) as entries:
                return next(entries, None) is None
        return _is_empty_file(os.fstat(fd))


def _is_empty_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def _remove_empty_file(base: int, name: PurePosixPath) -> None:
    try:
        parent = open_beneath(base, name.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    with hold_descriptor(parent), suppress(FileNotFoundError, NotADirectoryError):
        if _is_empty_file(os.stat(name.name, dir_fd=parent, follow_symlinks=False)):
            os.unlink(name.name, dir_fd=parent)
