"""A command that sleeps until a test wakes it, in whatever sandbox: nothing has to happen within some seconds."""

import os
import signal
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread

_PATIENCE_S = 180.0
_NUMBERS = count()


class Nap:
    """A sleep that no other has the words of; it ends by itself after so many seconds, and well in any case."""

    def __init__(self, longest_s: float = 600) -> None:
        self._words = f"{longest_s:.3f}{os.getpid():08}{next(_NUMBERS):04}"
        self.command = f"sleep {self._words} || true"

    def wake(self) -> None:
        """Wait until somebody sleeps, and end that as if its time were over."""
        until = time.monotonic() + _PATIENCE_S
        while not (sleeping := self._sleeping()):
            assert time.monotonic() < until, "nobody sleeps"
            time.sleep(0.05)
        for process in sleeping:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def wake_later(self) -> None:
        """The same without waiting for it: for whoever is told of an event, before what it tells of has begun."""
        Thread(target=self.wake, daemon=True).start()

    def wake_next_later(self) -> None:
        """Wait until nobody sleeps any more, then wake the next one later: for a run that is begun again."""
        until = time.monotonic() + _PATIENCE_S
        while self._sleeping():
            assert time.monotonic() < until, "somebody goes on sleeping"
            time.sleep(0.05)
        self.wake_later()

    def _sleeping(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "cmdline").read_bytes() == f"sleep\0{self._words}\0".encode():
                    found.append(int(entry.name))
        return found
