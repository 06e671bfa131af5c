"""Keeping Python's garbage collector away from much that is made at once, none of which is garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Look for no garbage in the block: that takes as long as it takes to make what is looked through.

    What is to stay for good can be put out of the collector's sight with `gc.freeze()` at the end of the block: else
    the next collection looks through it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
