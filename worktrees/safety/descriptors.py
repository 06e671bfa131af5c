"""Descriptors of the operating system, closed at the end of a block, and what a directory behind one holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hold_descriptor(descriptor: int) -> Iterator[int]:
    """Close the descriptor when the block ends, however it ends."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def list_directory(descriptor: int) -> list[tuple[str, bool]]:
    """Return the names in an open directory, each with True for a directory; links are not followed."""
    listed = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            listed.append((entry.name, entry.is_dir(follow_symlinks=False)))
    return listed
