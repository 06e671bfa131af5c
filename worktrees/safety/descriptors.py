"""Descriptors of the operating system, closed at the end of a block, and what a directory behind one holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def hold_descriptor(descriptor: int) -> Iterator[int]:
    """Close the descriptor when the block ends, however it ends."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_unwaiting(file: Path, flags: int = os.O_NOFOLLOW) -> BinaryIO:
    """Open a file to read it, without waiting for who writes where a pipe lies there.

    Raises:
        OSError: it cannot be read, or is a directory; nothing stays open then.
    """

    def open_file(path: str, usual: int) -> int:
        return os.open(path, usual | flags | os.O_NONBLOCK)

    return open(file, "rb", opener=open_file)


def list_directory(descriptor: int) -> list[tuple[str, bool]]:
    """Return the names in an open directory, each with True for a directory; links are not followed."""
    listed = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            listed.append((entry.name, entry.is_dir(follow_symlinks=False)))
    return listed
