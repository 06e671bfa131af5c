"""Looks after a live journal in a thread of its own: its snapshot, its search index, and its oldest events.

Snapshot and index are caches: whatever goes wrong with one is left, and whoever reads derives anew. Events that a
snapshot stood for when the journal was opened are held against their sums now; if one is damaged the journal is closed
to further events, since a repair could only set them aside.
"""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from threading import Event as Signal
from threading import Thread

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.run.state import RunState
from orchestrator.errors import OrchestrateError
from orchestrator.journal.full_text.search import update_index
from orchestrator.journal.journal import Journal
from orchestrator.journal.state import snapshot
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.journal.storage.problems import DamagedJournal

MAX_SNAPSHOT_INTERVAL = 10_000
"""How many events at most lie between two snapshots."""
_SHARE = 20
_AT_ONCE = 500
_REST_S = 0.005


class JournalMaintenance:
    """One journal's caretaker. It is made and closed, and told of events, where the journal's state is changed.

    Args:
        journal: the journal; the caretaker listens to it.
        least_events: how many events at least lie between two snapshots.
        pause_s: seconds between two looks at what is to be done.
    """

    def __init__(self, journal: Journal, least_events: int = 2_000, pause_s: float = 2.0) -> None:
        self._journal = journal
        self._least = least_events
        self._pause_s = pause_s
        self._saved = journal.state.seq
        self._wanted: RunState | None = None
        self._stop = Signal()
        journal.listeners.append(self._count_events)
        self._thread = Thread(target=self._work, name="journal-caretaker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Keep the last state and stop. Only after everybody who appends has stopped."""
        self._stop.set()
        self._thread.join()
        if self._wanted is not None or self._journal.state.seq - self._saved >= self._least // 4:
            self._take_snapshot()
            self._save()

    def _count_events(self, recorded: RecordedEvent) -> None:
        least = min(max(self._least, recorded.seq // _SHARE), MAX_SNAPSHOT_INTERVAL)
        if self._wanted is None and recorded.seq - self._saved >= least:
            self._take_snapshot()

    def _take_snapshot(self) -> None:
        self._wanted = snapshot.copy_state(self._journal.state)
        self._saved = self._wanted.seq

    def _work(self) -> None:
        self._verify()
        while not self._stop.wait(self._pause_s):
            self._save()
            with suppress(OSError, sqlite3.Error, OrchestrateError):
                update_index(self._directory, lambda: not self._stop.is_set())

    def _verify(self) -> None:
        """Hold old events against their sums, with rests, so that the engine is not held up."""
        with suppress(OSError, sqlite3.Error, OrchestrateError), self._open_reader() as reader:
            try:
                for row in reader.read_rows(until=self._journal.unread):
                    if row[0] % _AT_ONCE == 0:
                        time.sleep(_REST_S)
                    if self._stop.is_set():
                        return
            except DamagedJournal as damage:
                self._journal.refuse_appends(damage)

    def _save(self) -> None:
        state, self._wanted = self._wanted, None
        if state is None:
            return
        with suppress(OSError, sqlite3.Error, OrchestrateError), self._open_reader() as reader:
            total = reader.find_sum(state.seq, state.last_at)
            if total:
                snapshot.save_snapshot(self._directory, state, total)

    @property
    def _directory(self) -> Path:
        return self._journal.directory

    def _open_reader(self) -> EventReader:
        return EventReader.open_reader(self._directory / "journal.db")
