"""Files that are on the disk, under their name and whole, when the call that writes them returns.

A file is written under another name in the same directory, synced, renamed, and its directory synced. Whoever reads
it sees the old content or the new one, also when the writer is killed or the power is cut. A failure leaves the old
content and no temporary file; a process that is killed leaves at most a `.*.draft`.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from worktrees.safety.descriptors import hold_descriptor

DRAFT_SUFFIX = ".draft"
_CHUNK_BYTES = 1024 * 1024


def write_durably(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the content of `path` by `data`; `mode` is the new file's, before the umask.

    Raises:
        OSError: nothing was changed.
    """
    with replace_durably(path, mode) as draft:
        draft.write(data)


@contextmanager
def replace_durably(path: Path, mode: int = 0o600, draft_prefix: str = ".") -> Iterator[BinaryIO]:
    """Open a draft that takes the place of `path` when the block ends, and is removed when it raises.

    `draft_prefix` begins the name of the draft, for directories whose owner removes what a killed process left there.

    Raises:
        OSError: nothing was changed.
    """
    name = path.with_name(f"{draft_prefix}{os.urandom(8).hex()}{DRAFT_SUFFIX}")
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as draft:
            yield draft
            draft.flush()
            os.fsync(descriptor)
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def copy_durably(source: Path, target: Path, mode: int = 0o600, draft_prefix: str = ".") -> None:
    """Replace `target` by a copy of a file's content.

    Raises:
        OSError: nothing was changed.
    """
    with source.open("rb") as content, replace_durably(target, mode, draft_prefix) as draft:
        shutil.copyfileobj(content, draft, _CHUNK_BYTES)


def move_durably(source: Path, target: Path) -> None:
    """Rename a file or directory, and return when it is certain to stay renamed.

    Raises:
        OSError: it could not be renamed, or the disk does not answer for it.
    """
    source.rename(target)
    sync_directory(target.parent)
    if source.parent != target.parent:
        sync_directory(source.parent)


def append_durably(path: Path, data: bytes) -> None:
    """Add to the end of a file, which is made if it is missing. Only this can leave a part of `data` behind.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Make the content of a file durable that something else has written, as SQLite or git does."""
    _sync(path, os.O_RDONLY)


def sync_directory(path: Path) -> None:
    """Make durable which names a directory holds: what was made, renamed or removed in it."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    with hold_descriptor(os.open(path, flags | os.O_CLOEXEC)) as descriptor:
        os.fsync(descriptor)
