"""The event table in SQLite: append-only by trigger, WAL with synchronous=FULL, one writer, readers in any process.

Every event has a sum that is chained to the one before (`sums`), and every write is fenced: it goes through only while
the process that writes is the last one that claimed the journal.

What repairs a journal or brings one in writes its whole file at once, out of events that exist.
"""

import json
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from orchestrator.domain.event import RecordedEvent, format_event_body
from orchestrator.domain.event.run import EngineStarted
from orchestrator.errors import JournalProblem, RunTakenOver
from orchestrator.journal.storage import schema
from orchestrator.journal.storage.checksums import INITIAL_SUM, EventColumns, chain_sum, compute_text_sum
from orchestrator.journal.storage.event_reader import EventReader, read_all_events
from orchestrator.journal.storage.high_water_mark import HighWaterMark
from orchestrator.journal.storage.problems import DamagedJournal, translate_sqlite_errors
from orchestrator.journal.storage.schema import open_transaction
from worktrees.durable_files import sync_file

__all__ = ["EventStore", "read_all_events"]


class EventStore(EventReader):
    """One journal file. There is one writer (the run's lock and the fence see to that); readers may be many."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._epoch: int | None = None

    @classmethod
    def open_writer(cls, path: Path) -> "EventStore":
        """Open for writing, creating the file if it does not exist and migrating it if its schema is an older one.

        Raises:
            Damaged: events that were recorded are missing.
            JournalProblem: the file cannot be opened or was written by a newer version of this program.
        """
        with translate_sqlite_errors(path):
            if path.exists():
                with EventReader.open_reader(path) as reader:
                    reader.check_high_water_mark()  # before a writer folds into the file what is left of a damaged WAL
            else:
                HighWaterMark(path).path.unlink(missing_ok=True)
                schema.create_journal_file(path)
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.text_factory = bytes
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                schema.migrate_schema(connection, path)
                return cls(path, connection)
            except BaseException:
                connection.close()
                raise

    def close(self) -> None:
        """Close the file; whoever claimed it folds the log back into it, also while others have it open.

        SQLite does so only where the last one to close is a writer; whoever lists many runs reads a folded one in a
        fifth of the time.
        """
        if self._epoch is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout = 200")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        super().close()

    def claim_writer(self) -> int:
        """Make this the one process that may write, durably; whoever claimed before can write nothing more.

        Returns:
            The new epoch: above that of the fence and of every engine that ever started.

        Raises:
            JournalProblem: the claim could not be written.
            RunLocked: another process is in the middle of writing.
        """
        with translate_sqlite_errors(self.path), open_transaction(self._connection):
            engines = self._read_checked_rows("kind = 'engine.started'")
            epochs = [event.epoch for *_, event in map(self._parse_row, engines) if isinstance(event, EngineStarted)]
            fence = self._read_one("SELECT epoch FROM fence")
            epoch = max(fence, *epochs, 0) + 1
            holder = f"process {os.getpid()} on {socket.gethostname()}"
            self._connection.execute("UPDATE fence SET epoch = ?, holder = ?", (epoch, holder))
        self._epoch = epoch
        return epoch

    def insert_events(
        self, batch: Sequence[RecordedEvent], projections: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Write events in one durable transaction, and with them what is derived from all events up to the last one.

        A projection (name → text) is a cache for readers: it may be missing or stale, and nothing depends on it.

        Raises:
            Replaced: another process has claimed the journal since; nothing was written.
            JournalProblem: nothing of the batch was written.
        """
        with translate_sqlite_errors(self.path), open_transaction(self._connection):
            seq, previous = self._read_own_fence()
            values: list[object] = []
            for recorded in batch:
                if recorded.seq != seq + 1:
                    raise JournalProblem(f"{self.path}: event {recorded.seq} cannot follow event {seq}")
                columns = _build_columns(recorded)
                seq, previous = recorded.seq, chain_sum(previous, columns)
                values += (*map(decode_column, columns), previous)
            for first in range(0, len(values), _STATEMENT_VALUES):
                part = values[first : first + _STATEMENT_VALUES]
                self._connection.execute(_build_insert(len(part) // _EVENT_VALUES), part)
            self._connection.execute("UPDATE fence SET seq = ?, sum = ?", (seq, previous))
            at = _format_time(batch[-1])
            derived = []
            for name, body in projections.items():
                derived.append((name, seq, at, body, compute_text_sum(name, seq, at, body)))
            self._connection.executemany("INSERT OR REPLACE INTO projection VALUES(?, ?, ?, ?, ?)", derived)
        self._head.record_seq(seq)

    def _read_own_fence(self) -> tuple[int, bytes]:
        """Return the last event's seq and sum, inside a transaction, if this process may still write."""
        row = self._connection.execute("SELECT epoch, holder, seq, sum FROM fence").fetchone()
        if row is None or list(map(type, row)) != [int, bytes, int, bytes]:
            raise DamagedJournal(self.path, 0, "its fence is gone")
        epoch, holder, seq, total = row
        if self._epoch is None:
            raise RuntimeError("a store writes only after it has claimed its journal")
        if epoch != self._epoch:
            raise RunTakenOver(
                f"{holder.decode('utf-8', 'replace') or 'another process'} took over run {self.path.parent.name}; "
                "this one stops and records nothing more"
            )
        return seq, total


def _format_time(recorded: RecordedEvent) -> str:
    return recorded.at.astimezone(UTC).isoformat(timespec="microseconds")


def _build_columns(recorded: RecordedEvent) -> EventColumns:
    event = recorded.event
    return (
        recorded.seq,
        _format_time(recorded).encode(),
        event.kind.encode(),
        event.v,
        _encode_column(event.task),
        _encode_column(getattr(event, "session", None)),
        _encode_column(getattr(event, "key", None)),
        format_event_body(event).encode(),
    )


def _encode_column(text: str | None) -> bytes | None:
    return text.encode() if text is not None else None


_EVENT_VALUES = 9
_STATEMENT_VALUES = 100 * _EVENT_VALUES


@lru_cache
def _build_insert(events: int) -> str:
    """Return the statement that inserts so many events at once.

    SQLite gives up the interpreter's lock at every step of a statement and takes it again. That can last milliseconds
    while the event loop is busy, so a statement for each event would make all who append wait.
    """
    row = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
    return f"INSERT INTO event(seq, at, kind, v, task, session, key, body, sum) VALUES{', '.join([row] * events)}"


def write_journal_file(path: Path, rows: Iterable[EventColumns]) -> int:
    """Write a journal at `path`, which must not be in use, that holds exactly these events; durable on return.

    Returns:
        The last event's seq.

    Raises:
        JournalProblem: it cannot be written.
    """
    with translate_sqlite_errors(path):
        path.unlink(missing_ok=True)
        schema.create_journal_file(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection, open_transaction(connection):
            written = _Written()
            connection.executemany(_build_insert(1), written.build_insert_rows(rows))
            fence = (written.epoch, written.seq, written.total)
            connection.execute("UPDATE fence SET epoch = ?, seq = ?, sum = ?", fence)
    sync_file(path)
    return written.seq


class _Written:
    """The last event that was written, and the highest epoch any tells of."""

    def __init__(self) -> None:
        self.seq, self.total, self.epoch = 0, INITIAL_SUM, 0

    def build_insert_rows(self, rows: Iterable[EventColumns]) -> Iterator[tuple[object, ...]]:
        for row in rows:
            self.seq, self.total = row[0], chain_sum(self.total, row)
            if row[2] == b"engine.started":
                self.epoch = max(self.epoch, json.loads(row[7])["epoch"])
            yield (*map(decode_column, row), self.total)


def decode_column(column: int | bytes | None) -> int | str | None:
    """Return a column as SQLite is to store it: texts as texts."""
    if isinstance(column, bytes):
        return column.decode()
    return column
