"""Read files of a directory that somebody else may have filled, without following links or waiting for pipes."""

import os
import stat
from pathlib import Path, PurePosixPath


def read_regular_file(directory: Path, name: str, limit_bytes: int) -> bytes:
    """Return the content of the regular file `name` (relative, `a/b`) below `directory`.

    Raises:
        OSError: it is missing, a link stands on the way, it is no regular file, or it is larger than `limit_bytes`.
    """
    *folders, last = PurePosixPath(name).parts
    here = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = inner
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit_bytes:
            raise OSError(f"{directory / name} is no regular file of at most {limit_bytes:,} bytes")
        return opened.read(limit_bytes)
