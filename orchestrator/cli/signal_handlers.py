"""Handle signals for the length of a block."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def handle_signals(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    """Have each signal handled by its handler; those that were there before come back after the block."""
    previous_handlers = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, previous in previous_handlers.items():
            signal.signal(number, previous)
