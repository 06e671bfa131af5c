"""The dashboard's terminal for another program: all else goes on meanwhile, and what is typed there is not for us."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from textual.app import App

_TYPED = (signal.SIGINT, signal.SIGQUIT)
"""The signals that a terminal sends to all programs in it when somebody types ctrl+c or ctrl+\\ into an editor."""


@contextmanager
def suspend_dashboard(app: App[None]) -> Iterator[None]:
    """Give the terminal to another program while the block lasts; only in the main thread.

    Raises:
        SuspendNotSupported: the app has no terminal to lend.
    """
    with app.batch_update(), app.suspend():
        before = {number: signal.signal(number, _pass_over) for number in _TYPED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; unlike an ignored signal, a started program does not inherit that."""
