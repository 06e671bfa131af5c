"""Places in a workspace where borrowed things are mounted, made from outside so that nothing inside diverts them."""

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from orchestrator.errors import ToolRefused
from orchestrator.hands.files.safe_open import open_beneath
from orchestrator.hands.files.workspace_files import create_folders, open_root_folder
from worktrees.safety.descriptors import hold_descriptor

_EMPTY_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK


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
    try:
        if _is_empty_file(os.stat(name.name, dir_fd=parent, follow_symlinks=False)):
            os.unlink(name.name, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise
    finally:
        os.close(parent)
