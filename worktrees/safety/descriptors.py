"""Descriptors of the operating system, closed at the end of a block."""

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
