"""Reading a journal in a thread of its own, also while it grows, is damaged, repaired, replaced or gone."""

import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event as Signal
from threading import Thread

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.run.state import RunState
from orchestrator.errors import OrchestrateError
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.locations.run_lock import LockOwner, find_lock_owner
from orchestrator.journal.state.derivation import load_base_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.journal.storage.problems import DamagedJournal
from orchestrator.report.log.last_event import EVENTS_TO_READ

RECENT_EVENTS = 3_000
"""Newest events that are kept for views."""
_BATCH = 250
_MOST_WAITING = 40
"""Batches that may wait to be taken: who is slow to take them holds the reading up, not the memory."""
_POLL_S = 0.1
_AGAIN_S = 1.0
_LEAVE_S = 2.0


@dataclass(frozen=True)
class JournalReset:
    """Begin with this state. `recent_events` are the newest events that it stands for, `quiet_events` the last ones of
    conversations that go on but are not among those. All of it is the taker's own.
    """

    state: RunState
    recent_events: list[RecordedEvent]
    quiet_events: list[RecordedEvent]


TailBatch = JournalReset | list[RecordedEvent]


class JournalTail:
    """Hands over what a journal holds in `batches`, in order: first a `JournalReset`, then events; another one when the
    journal is not the one any more that was read. `problem` says what keeps it from reading on; empty if nothing.
    """

    def __init__(self, directory: RunDirectory, *, from_start: bool = False) -> None:
        """`from_start` leaves snapshots aside: every event is handed over."""
        self._directory = directory
        self._from_start = from_start
        self.batches: deque[TailBatch] = deque()
        self.problem = ""
        self.is_at_end = False
        self._sign: tuple[LockOwner, float] | None = None
        self._seq, self._mark = 0, b""
        self._stop = Signal()
        self._thread = Thread(target=self._work, name="journal-tail", daemon=True)

    def start_reading(self) -> None:
        """Start the thread that reads."""
        self._thread.start()

    def stop_reading(self) -> None:
        """Stop reading."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_LEAVE_S)

    @property
    def is_closed(self) -> bool:
        """True once nothing more will come."""
        return self._stop.is_set()

    @property
    def engine_silence_s(self) -> float | None:
        """Seconds since the last sign of life of the process that works on the run; None if none does."""
        sign = self._sign
        if sign:
            return sign[0].age_s + time.monotonic() - sign[1]
        return None

    # --- in the thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._read_on()
        finally:
            if not self._stop.is_set():
                self.problem = "nothing more is read, by a defect of orchestrate: leave and come back"

    def _read_on(self) -> None:
        while not self._stop.is_set():
            try:
                with EventReader.open_reader(self._directory.journal) as reader:
                    self._begin(reader)
                    self._follow(reader)
            except (OrchestrateError, sqlite3.Error, OSError) as problem:
                self.problem = str(problem)
                self._look_at_lock()
                self._stop.wait(_AGAIN_S)

    def _begin(self, reader: EventReader) -> None:
        """Resume where reading stopped, if this is still that journal."""
        if self._mark and reader.read_event_mark(self._seq) == self._mark:
            return
        state = RunState() if self._from_start else load_base_state(reader)
        self._seq, self._mark = state.seq, b""
        earlier = list(_parse_rows(reader, state.seq))
        heard = {getattr(recorded.event, "session", None) for recorded in earlier}
        quiet: list[RecordedEvent] = []
        for one in state.sessions.values():
            if one.ended is None and one.session not in heard:
                quiet += reader.read_session_part(one.session, last=EVENTS_TO_READ)
        self.batches.append(JournalReset(state, earlier, quiet))

    def _follow(self, reader: EventReader) -> None:
        """Read on until the file is replaced."""
        path, known_changes, looked = self._directory.journal, -1, 0.0
        identity = _identity(path)
        while not self._stop.is_set() and _identity(path) == identity:
            changes = reader.read_data_version()
            if changes != known_changes or not self.is_at_end:
                known_changes = changes
                self.is_at_end = self._read(reader)
            self.problem = ""
            if time.monotonic() - looked > _AGAIN_S / 2:
                looked = time.monotonic()
                self._look_at_lock()
            self._stop.wait(_POLL_S)

    def _read(self, reader: EventReader) -> bool:
        """Queue what there is, as long as there is room; return True if that was all."""
        while len(self.batches) < _MOST_WAITING and not self._stop.is_set():
            batch: list[RecordedEvent] = []
            try:
                batch.extend(islice(reader.read_events(after=self._seq), _BATCH))  # what came before damage stays
            finally:
                if batch:
                    self._seq = batch[-1].seq
                    self.batches.append(batch)
                    self._mark = reader.read_event_mark(self._seq)
            if len(batch) < _BATCH:
                return True
        return False

    def _look_at_lock(self) -> None:
        found = find_lock_owner(self._directory.path)
        self._sign = (found, time.monotonic()) if found else None


def _parse_rows(reader: EventReader, until: int) -> Iterator[RecordedEvent]:
    """Parse the newest events up to one; none if they cannot be read, as a snapshot stands for them."""
    with suppress(DamagedJournal):
        yield from reader.read_events(after=max(until - RECENT_EVENTS, 0), until=until)


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells a file from another one at its place; raise OSError if there is none."""
    found = path.stat()
    return found.st_dev, found.st_ino
