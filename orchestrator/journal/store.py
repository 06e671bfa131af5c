"""The event table in SQLite: append-only by trigger, WAL with synchronous=FULL, one writer, readers in any process.

Every event has a sum that is chained to the one before (`sums`), and every write is fenced: it goes through only while
the process that writes is the last one that claimed the journal.
"""

import os
import socket
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path
from types import MappingProxyType

from orchestrator.domain.event import Recorded, to_body
from orchestrator.domain.event.run import EngineStarted
from orchestrator.errors import JournalProblem, Replaced
from orchestrator.journal import schema
from orchestrator.journal.fresh import INSERT, column_text
from orchestrator.journal.head import Head
from orchestrator.journal.problems import Damaged, explained
from orchestrator.journal.reader import Reader, read_all
from orchestrator.journal.sums import Columns, chained, of_text
from orchestrator.journal.transaction import transaction

__all__ = ["Store", "read_all"]


class Store(Reader):
    """One journal file. There is one writer (the run's lock and the fence see to that); readers may be many."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._epoch: int | None = None

    @classmethod
    def open_writer(cls, path: Path) -> "Store":
        """Open for writing, creating the file if it does not exist and migrating it if its schema is an older one.

        Raises:
            Damaged: events that were recorded are missing.
            JournalProblem: the file cannot be opened or was written by a newer version of this program.
        """
        with explained(path):
            if path.exists():
                with closing(Reader.open_reader(path)) as reader:
                    reader.require_noted()  # before a writer folds into the file what is left of a damaged WAL
            else:
                Head(path).path.unlink(missing_ok=True)
                schema.create(path)
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.text_factory = bytes
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                schema.migrate(connection, path)
                return cls(path, connection)
            except BaseException:
                connection.close()
                raise

    def claim(self) -> int:
        """Become the one process that may write, durably; whoever claimed before can write nothing more.

        Returns:
            The new epoch: above that of the fence and of every engine that ever started.

        Raises:
            JournalProblem: the claim could not be written.
            RunLocked: another process is in the middle of writing.
        """
        with explained(self.path), transaction(self._connection):
            engines = self._rows("kind = 'engine.started'")
            epochs = [event.epoch for *_, event in map(self._parse, engines) if isinstance(event, EngineStarted)]
            fence = self._one("SELECT epoch FROM fence")
            epoch = max(fence, *epochs, 0) + 1
            holder = f"process {os.getpid()} on {socket.gethostname()}"
            self._connection.execute("UPDATE fence SET epoch = ?, holder = ?", (epoch, holder))
        self._epoch = epoch
        return epoch

    def insert(self, batch: Sequence[Recorded], projections: Mapping[str, str] = MappingProxyType({})) -> None:
        """Write events in one durable transaction, and with them what is derived from all events up to the last one.

        A projection (name → text) is a cache for readers: it may be missing or stale, and nothing depends on it.

        Raises:
            Replaced: another process has claimed the journal since; nothing was written.
            JournalProblem: nothing of the batch was written.
        """
        with explained(self.path), transaction(self._connection):
            seq, previous = self._fenced()
            rows: list[tuple[object, ...]] = []
            for recorded in batch:
                if recorded.seq != seq + 1:
                    raise JournalProblem(f"{self.path}: event {recorded.seq} cannot follow event {seq}")
                columns = _columns(recorded)
                seq, previous = recorded.seq, chained(previous, columns)
                rows.append((*(column_text(column) for column in columns), previous))
            self._connection.executemany(INSERT, rows)
            self._connection.execute("UPDATE fence SET seq = ?, sum = ?", (seq, previous))
            at = _at(batch[-1])
            derived = [(name, seq, at, body, of_text(name, seq, at, body)) for name, body in projections.items()]
            self._connection.executemany("INSERT OR REPLACE INTO projection VALUES(?, ?, ?, ?, ?)", derived)
        self._head.note(seq)

    def _fenced(self) -> tuple[int, bytes]:
        """The last event's seq and sum, inside a transaction, if this process may still write."""
        row = self._connection.execute("SELECT epoch, holder, seq, sum FROM fence").fetchone()
        if row is None or list(map(type, row)) != [int, bytes, int, bytes]:
            raise Damaged(self.path, 0, "its fence is gone")
        epoch, holder, seq, total = row
        if self._epoch is None:
            raise RuntimeError("a store writes only after it has claimed its journal")
        if epoch != self._epoch:
            raise Replaced(
                f"{holder.decode('utf-8', 'replace') or 'another process'} took over run {self.path.parent.name}; "
                "this one stops and records nothing more"
            )
        return seq, total


def _at(recorded: Recorded) -> str:
    return recorded.at.astimezone(UTC).isoformat(timespec="microseconds")


def _columns(recorded: Recorded) -> Columns:
    event = recorded.event
    return (
        recorded.seq,
        _at(recorded).encode(),
        event.kind.encode(),
        event.v,
        _bytes(event.task),
        _bytes(getattr(event, "session", None)),
        _bytes(getattr(event, "key", None)),
        to_body(event).encode(),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
