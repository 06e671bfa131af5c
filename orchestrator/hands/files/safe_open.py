"""Opens files below a directory so that no symbolic link, `..` or mount trick leads out of it, however it races.

Linux resolves the whole path in one call (`openat2`); elsewhere every component is opened on its own without
following links.
"""

import ctypes
import errno
import os
from functools import lru_cache
from pathlib import PurePosixPath

_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_AT_FDCWD = -100
_TRIES = 64


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: int, path: PurePosixPath, flags: int, mode: int = 0) -> int:
    """Open `path` below the directory descriptor `root`, closed on exec; return the descriptor.

    Raises:
        OSError: ELOOP for a symbolic link anywhere on the way, EXDEV for a path that leads out, and the usual ones.
    """
    if path.is_absolute() or ".." in path.parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
    flags |= os.O_CLOEXEC
    if has_openat2():
        return _openat2(root, path, flags, mode)
    return _open_stepwise(root, path, flags, mode)


@lru_cache(maxsize=1)
def has_openat2() -> bool:
    """Return True if this kernel, and whatever filters its calls, offers openat2."""
    try:
        os.close(_openat2(_AT_FDCWD, PurePosixPath("."), os.O_PATH | os.O_CLOEXEC, 0))
    except (OSError, AttributeError):
        return False
    return True


def _openat2(root: int, path: PurePosixPath, flags: int, mode: int) -> int:
    how = _OpenHow(flags, mode, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    for _ in range(_TRIES):
        fd = int(_libc().syscall(_OPENAT2, root, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: something was renamed meanwhile
            raise OSError(number, os.strerror(number), str(path))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _open_stepwise(root: int, path: PurePosixPath, flags: int, mode: int) -> int:
    *parents, name = path.parts or (".",)
    folder_fd = os.dup(root)
    try:
        for parent in parents:
            inner = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
            os.close(folder_fd)
            folder_fd = inner
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=folder_fd)
    finally:
        os.close(folder_fd)
