"""Keeps a live journal's caches fresh, in a thread of its own: the snapshot of its state and the search index.

Caches are never needed: whatever goes wrong with one is left, and whoever reads derives anew.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Event as Signal
from threading import Thread

from orchestrator.domain.event import Recorded
from orchestrator.domain.state import RunState
from orchestrator.errors import OrchestrateError
from orchestrator.journal import snapshot
from orchestrator.journal.reader import Reader
from orchestrator.journal.search import catch_up

MOST_EVENTS = 20_000
"""How many events at most lie between two snapshots."""
_SHARE = 20


class Caretaker:
    """One journal's caretaker. `recorded` and `close` are called where the state is changed, so that it stands still.

    Args:
        directory: the run's.
        state: gives the live state.
        least_events: how many events at least lie between two snapshots.
        pause_s: seconds between two looks at what is to be done.
    """

    def __init__(
        self, directory: Path, state: Callable[[], RunState], least_events: int = 2_000, pause_s: float = 2.0
    ) -> None:
        self._pause_s = pause_s
        self._least = least_events
        self._directory = directory
        self._state = state
        self._saved = state().seq
        self._wanted: RunState | None = None
        self._stop = Signal()
        self._thread = Thread(target=self._work, name="journal-caretaker", daemon=True)
        self._thread.start()

    def recorded(self, recorded: Recorded) -> None:
        """An event is durable."""
        least = min(max(self._least, recorded.seq // _SHARE), MOST_EVENTS)
        if self._wanted is None and recorded.seq - self._saved >= least:
            self._take()

    def close(self) -> None:
        """Keep the last state and stop. Only after everybody who appends has stopped."""
        self._stop.set()
        self._thread.join()
        if self._wanted is not None or self._state().seq - self._saved >= self._least // 4:
            self._take()
            self._save()

    def _take(self) -> None:
        self._wanted = snapshot.copy_of(self._state())
        self._saved = self._wanted.seq

    def _work(self) -> None:
        while not self._stop.wait(self._pause_s):
            self._save()
            with suppress(OSError, sqlite3.Error, OrchestrateError):
                catch_up(self._directory, lambda: not self._stop.is_set())

    def _save(self) -> None:
        state, self._wanted = self._wanted, None
        if state is None:
            return
        try:
            with closing(Reader.open_reader(self._directory / "journal.db")) as reader:
                total = reader.sum_at(state.seq, state.last_at)
                if total:
                    snapshot.save(self._directory, state, total)
        except (OSError, sqlite3.Error, OrchestrateError):
            return
