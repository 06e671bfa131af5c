"""The event table in SQLite: append-only by trigger, WAL with synchronous=FULL, one writer, readers in any process.

Every event has a sum that is chained to the one before (`sums`), and every write is fenced: it goes through only while
the process that writes is the last one that claimed the journal.
"""

import os
import socket
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from orchestrator.domain.event import Recorded, UnknownEventError, parse_event, to_body
from orchestrator.domain.event.run import EngineStarted
from orchestrator.errors import JournalProblem, Replaced
from orchestrator.journal import schema
from orchestrator.journal.problems import Damaged, explained
from orchestrator.journal.sums import BEGINNING, Columns, chained

_INSERT = "INSERT INTO event(seq, at, kind, v, task, session, key, body, sum) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Store:
    """One journal file. There is one writer (the run's lock and the fence see to that); readers may be many."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._connection.text_factory = bytes  # what is damaged need not be text
        self._version = schema.version_of(connection, path)
        self._epoch: int | None = None

    @classmethod
    def open_writer(cls, path: Path) -> "Store":
        """Open for writing, creating the file if it does not exist and migrating it if its schema is an older one.

        Raises:
            JournalProblem: the file cannot be opened or was written by a newer version of this program.
        """
        with explained(path):
            if not path.exists():
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

    @classmethod
    def open_reader(cls, path: Path) -> "Store":
        """Open read-only, also while another process writes, and also a file of an older schema.

        Raises:
            JournalProblem: there is no journal, or it was written by a newer version of this program.
        """
        if not path.exists():
            raise JournalProblem(f"there is no journal at {path}")
        with explained(path):
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
            try:
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
        with explained(self.path), _transaction(self._connection):
            engines = self._rows("kind = 'engine.started' AND seq > ?", 0)
            epochs = [event.epoch for *_, event in map(self._parse, engines) if isinstance(event, EngineStarted)]
            fence = int(self._connection.execute("SELECT epoch FROM fence").fetchone()[0])
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
        with explained(self.path), _transaction(self._connection):
            seq, previous = self._fenced()
            rows: list[tuple[object, ...]] = []
            for recorded in batch:
                if recorded.seq != seq + 1:
                    raise JournalProblem(f"{self.path}: event {recorded.seq} cannot follow event {seq}")
                columns = _columns(recorded)
                seq, previous = recorded.seq, chained(previous, columns)
                rows.append((*(_text(column) for column in columns), previous))
            self._connection.executemany(_INSERT, rows)
            self._connection.execute("UPDATE fence SET seq = ?, sum = ?", (seq, previous))
            derived = [(name, seq, _at(batch[-1]), body) for name, body in projections.items()]
            self._connection.executemany("INSERT OR REPLACE INTO projection VALUES(?, ?, ?, ?)", derived)

    def _fenced(self) -> tuple[int, bytes]:
        """The last event's seq and sum, inside a transaction, if this process may still write."""
        epoch, holder, seq, total = self._connection.execute("SELECT epoch, holder, seq, sum FROM fence").fetchone()
        if self._epoch is None:
            raise RuntimeError("a store writes only after it has claimed its journal")
        if epoch != self._epoch:
            raise Replaced(
                f"{holder.decode('utf-8', 'replace') or 'another process'} took over run {self.path.parent.name}; "
                "this one stops and records nothing more"
            )
        return seq, total

    def read(self, after: int = 0, session: str | None = None) -> Iterator[Recorded]:
        """Events with a seq above `after`, in order; only those of one session if it is named.

        Raises:
            Damaged: an event is damaged or missing; those before it were given.
            JournalProblem: an event is of a kind or version this program does not know.
        """
        with explained(self.path):
            if session is None:
                yield from map(self._parse, self._chain(after))
            else:
                yield from map(self._parse, self._rows("session = ? AND seq > ?", session, after))

    def _chain(self, after: int) -> Iterator[Columns]:
        """All rows above a seq, each held against its sum, its predecessor, and the number of events there must be."""
        last = self._last()
        previous = self._sum_of(after)
        seq = after
        query = f"SELECT {self._columns} FROM event WHERE seq > ? ORDER BY seq"
        for *row, total in self._connection.execute(query, (after,)):
            if row[0] != seq + 1:
                raise Damaged(self.path, seq, f"event {seq + 1} is missing")
            previous = self._verified(row, total, previous, seq)
            seq = row[0]
            yield row
        if seq < last:
            raise Damaged(self.path, seq, f"events {seq + 1} to {last} are missing")

    def _rows(self, condition: str, *values: object) -> Iterator[Columns]:
        """Some rows, each held against its sum."""
        before = "(SELECT sum FROM event p WHERE p.seq = event.seq - 1)" if self._version > 1 else "NULL"
        query = f"SELECT {self._columns}, {before} FROM event WHERE {condition} ORDER BY seq"
        for *row, total, previous in self._connection.execute(query, values):
            seq = int(row[0])
            self._verified(row, total, BEGINNING if seq == 1 else previous, seq - 1)
            yield row

    @property
    def _columns(self) -> str:
        return f"{schema.COLUMNS}, {'sum' if self._version > 1 else 'NULL'}"

    def _verified(self, row: Columns, total: bytes | None, previous: bytes | None, before: int) -> bytes:
        if self._version == 1:
            return BEGINNING
        try:
            found = chained(previous or b"", row)
        except TypeError:
            found = b""
        if found != total:
            raise Damaged(self.path, before, f"event {before + 1} is not what was written")
        return found

    def _sum_of(self, seq: int) -> bytes:
        if seq == 0 or self._version == 1:
            return BEGINNING
        row = self._connection.execute("SELECT sum FROM event WHERE seq = ?", (seq,)).fetchone()
        return bytes(row[0] or b"") if row else b""

    def _last(self) -> int:
        if self._version == 1:
            return 0
        return int(self._connection.execute("SELECT seq FROM fence").fetchone()[0])

    def last_seq(self) -> int:
        """The seq of the newest event, 0 when there is none."""
        with explained(self.path):
            return int(self._connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])

    def _parse(self, row: Columns) -> Recorded:
        seq, at, kind, version, *_, body = row
        name = kind.decode("utf-8", "replace")
        try:
            return Recorded(seq, datetime.fromisoformat(at.decode()), parse_event(name, version, body))
        except UnknownEventError as error:
            raise JournalProblem(f"{self.path}, event {seq}: {error}; use a newer version of orchestrate") from error
        except (ValidationError, ValueError) as error:
            raise Damaged(self.path, seq - 1, f"event {seq} ({name}) is damaged: {error}") from error

    def close(self) -> None:
        """Close the file; a writer's WAL is folded back into it."""
        with explained(self.path):
            self._connection.close()


class _transaction:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK when something is raised."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


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


def _text(column: int | bytes | None) -> int | str | None:
    return column.decode() if isinstance(column, bytes) else column


def read_all(path: Path) -> Generator[Recorded, None, None]:
    """All events of a journal file, for readers that need them once."""
    store = Store.open_reader(path)
    try:
        yield from store.read()
    finally:
        store.close()
