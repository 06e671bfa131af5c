"""Reading a journal file: every event is held against its sum, so that what no writer wrote is never returned."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self, cast

from pydantic import ValidationError

from orchestrator.domain.event import Event, RecordedEvent, UnknownEventError, parse_event
from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.errors import JournalProblem
from orchestrator.journal.storage import problems, schema
from orchestrator.journal.storage.checksums import INITIAL_SUM, EventColumns, chain_sum
from orchestrator.journal.storage.high_water_mark import HighWaterMark

_NO_END = 2**62


class EventReader:
    """One journal file, of any schema. There may be many readers, in any process, also while one writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._connection.text_factory = bytes  # what is damaged need not be text
        self._version = schema.read_schema_version(connection, path)
        self._head = HighWaterMark(path)

    @classmethod
    def open_reader(cls, path: Path) -> Self:
        """Open read-only, also while another process writes, and also a file of an older schema.

        Raises:
            JournalProblem: there is no journal, or it was written by a newer version of this program.
        """
        if not path.exists():
            raise JournalProblem(f"there is no journal at {path}")
        with problems.translate_sqlite_errors(path):
            try:
                return cls._open_connection(path, "mode=ro")
            except sqlite3.OperationalError:
                wal = path.with_name(f"{path.name}-wal")
                if wal.exists() and wal.stat().st_size:
                    raise
                return cls._open_connection(path, "immutable=1")  # where SQLite may not even create its shared memory

    @classmethod
    def _open_connection(cls, path: Path, mode: str) -> Self:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False)
        try:
            return cls(path, connection)
        except BaseException:
            connection.close()
            raise

    def read_events(self, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events with a seq above `after`, in order, up to `until` if that is given.

        Raises:
            Damaged: an event is damaged or missing; those before it were given.
            JournalProblem: an event is of a kind or version this program does not know.
        """
        with problems.translate_sqlite_errors(self.path):
            yield from map(self._parse_row, self.read_rows(after, until))

    def read_kinds(self, kinds: Sequence[str], after: int = 0) -> Iterator[RecordedEvent]:
        """Yield events of some kinds with a seq above `after`, in order; raise as `read_events` does."""
        named = ", ".join("?" * len(kinds))
        with problems.translate_sqlite_errors(self.path):
            yield from map(self._parse_row, self._read_checked_rows(f"seq > ? AND kind IN ({named})", after, *kinds))

    def read_bodies(self, kind: str, holding: str) -> Iterator[bytes]:
        """Yield the stored JSON of the events of a kind in which a text stands; raise as `read_events` does."""
        with problems.translate_sqlite_errors(self.path):
            for row in self._read_checked_rows("kind = ? AND instr(body, ?) > 0", kind, holding):
                yield row[-1]

    def read_session(self, session: str) -> list[RecordedEvent]:
        """Return all events of one conversation, in order.

        Raises:
            Damaged: an event is damaged or missing.
            JournalProblem: an event is of a kind or version this program does not know.
        """
        with problems.translate_sqlite_errors(self.path):
            found = list(map(self._parse_row, self._read_checked_rows("session = ?", session)))
            query = "SELECT count(*) FROM event NOT INDEXED WHERE seq >= ? AND session = ?"
            count = self._read_one(query, found[0].seq if found else 0, session)
        if count != len(found):  # the index lies, or the table does
            raise problems.DamagedJournal(self.path, 0, f"events of session {session} are missing")
        return found

    def read_session_part(
        self, session: str, after: int = 0, until: int = _NO_END, last: int = _NO_END
    ) -> list[RecordedEvent]:
        """Yield the events of one conversation with a seq above `after` and up to `until`, at most the last `last`.

        They are in order; raises as `read` does.
        """
        chosen = "SELECT seq FROM event WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
        with problems.translate_sqlite_errors(self.path):
            rows = self._read_checked_rows(f"seq IN ({chosen})", session, after, until, last)
            return list(map(self._parse_row, rows))

    def read_rows(self, after: int = 0, until: int | None = None) -> Iterator[EventColumns]:
        """Yield stored events above a seq, each held against its sum, its predecessor and the number there must be.

        Args:
            after: the seq before the first.
            until: the last seq; None for all there are.

        Raises:
            Damaged: an event is damaged or missing; those before it were given.
        """
        seq = after
        try:
            fence, total_of_fence = self._read_fence()
            last = max(fence, self._head.read_seq()) if until is None else until
            previous = self._read_sum(after)
            query = f"SELECT {self._columns} FROM event WHERE seq > ? AND seq <= ? ORDER BY seq"
            for *columns, total in self._connection.execute(query, (after, _NO_END if until is None else until)):
                if columns[0] != seq + 1:
                    raise problems.DamagedJournal(self.path, seq, f"event {seq + 1} is missing")
                row = cast(EventColumns, tuple(columns))
                previous = self._verify_row(row, total, previous)
                seq += 1
                yield row
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            if not problems.is_damage(error):
                raise
            raise problems.DamagedJournal(self.path, seq, f"event {seq + 1} cannot be read ({error})") from error
        if seq == fence and self._version > 1 and previous != total_of_fence:
            raise problems.DamagedJournal(self.path, seq, "its fence is not what was written")
        if seq < last:
            raise problems.DamagedJournal(self.path, seq, _find_missing(seq + 1, last))

    def _read_checked_rows(self, condition: str, *values: object) -> Iterator[EventColumns]:
        """Yield some events, each held against its sum."""
        before = "(SELECT sum FROM event p WHERE p.seq = event.seq - 1)" if self._version > 1 else "NULL"
        query = f"SELECT {self._columns}, {before} FROM event WHERE {condition} ORDER BY seq"
        try:
            for *columns, total, previous in self._connection.execute(query, values):
                row = cast(EventColumns, tuple(columns))
                self._verify_row(row, total, INITIAL_SUM if row[0] == 1 else previous)
                yield row
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            if not problems.is_damage(error):
                raise
            raise problems.DamagedJournal(self.path, 0, f"events cannot be read ({error})") from error

    @property
    def _columns(self) -> str:
        return f"{schema.EVENT_COLUMNS}, {'sum' if self._version > 1 else 'NULL'}"

    def _verify_row(self, row: EventColumns, total: bytes | None, previous: bytes | None) -> bytes:
        if self._version == 1:
            return INITIAL_SUM
        try:
            found = chain_sum(previous or b"", row)
        except TypeError:
            found = b""
        if found != total:
            raise problems.DamagedJournal(self.path, row[0] - 1, f"event {row[0]} is not what was written")
        return found

    def _read_sum(self, seq: int) -> bytes:
        """Return the sum of an event; empty if there is no such event or it has none."""
        if seq == 0 or self._version == 1:
            return INITIAL_SUM
        row = self._connection.execute("SELECT sum FROM event WHERE seq = ?", (seq,)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""

    def _read_fence(self) -> tuple[int, bytes]:
        """Return the last event and its sum, as the writer noted them."""
        if self._version == 1:
            return 0, INITIAL_SUM
        row = self._connection.execute("SELECT seq, sum FROM fence").fetchone()
        if row is None or not isinstance(row[0], int):
            raise problems.DamagedJournal(self.path, 0, "its fence is gone")
        return row[0], row[1] if isinstance(row[1], bytes) else b""

    def _read_one(self, query: str, *values: object) -> int:
        row = self._connection.execute(query, values).fetchone()
        if row is None or not isinstance(row[0], int):
            raise problems.DamagedJournal(self.path, 0, "its tables do not hold what they must")
        return row[0]

    def has_event(self, seq: int, total: bytes) -> bool:
        """Return True if the journal's event `seq` is the one with this sum."""
        with problems.translate_sqlite_errors(self.path):
            return self._version > 1 and bool(total) and self._read_sum(seq) == total

    def find_sum(self, seq: int, at: datetime | None) -> bytes:
        """Return the sum of the event `seq` if it was recorded at this moment.

        Empty if it is another or there is none.
        """
        with problems.translate_sqlite_errors(self.path):
            row = self._connection.execute("SELECT at FROM event WHERE seq = ?", (seq,)).fetchone()
            if row is None or self._version == 1 or datetime.fromisoformat(row[0].decode()) != at:
                return b""
            return self._read_sum(seq)

    def check_high_water_mark(self) -> None:
        """Make sure that nothing is missing of what a writer noted as durable.

        Raises:
            Damaged: events are missing.
        """
        noted = self._head.read_seq()
        if (last := self.read_last_seq()) < noted:
            raise problems.DamagedJournal(self.path, last, _find_missing(last + 1, noted))

    def read_data_version(self) -> int:
        """Return a number that is another one whenever another process has written since."""
        with problems.translate_sqlite_errors(self.path):
            return self._read_one("PRAGMA data_version")

    def read_row(self, seq: int) -> list[EventColumns]:
        """Return one stored event, or none; held against its sum.

        Raises:
            Damaged: it is not what was written.
        """
        with problems.translate_sqlite_errors(self.path):
            return list(self._read_checked_rows("seq = ?", seq))

    def read_event_mark(self, seq: int) -> bytes:
        """Return what tells an event from every other that could stand at its place; empty if there is none."""
        if self._version > 1:
            with problems.translate_sqlite_errors(self.path):
                return self._read_sum(seq)
        return next((chain_sum(INITIAL_SUM, row) for row in self.read_row(seq)), b"")

    def find_inner_problem(self) -> str:
        """Return what SQLite finds wrong with the file beyond the events themselves: indexes, free pages; else ""."""
        try:
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0].decode("utf-8", "replace")
        except sqlite3.Error as error:
            found = str(error)
        if found == "ok":
            return ""
        return f"its inner structure is ({found})"

    def read_last_seq(self) -> int:
        """Return the seq of the newest event, 0 when there is none."""
        with problems.translate_sqlite_errors(self.path):
            return self._read_one("SELECT coalesce(max(seq), 0) FROM event")

    def _parse_row(self, row: EventColumns) -> RecordedEvent:
        return parse_row(self.path, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a writer's WAL is folded back into it."""
        self._head.close()
        with problems.translate_sqlite_errors(self.path):
            self._connection.close()


def parse_row(path: Path, row: EventColumns) -> RecordedEvent:
    """Return a stored event as what it says; `path` is the journal, for messages.

    Raises:
        UnusableEvent: it does not have the shape of its kind.
        TooNew: this program does not know the kind or its version.
    """
    seq, at, kind, version, *columns, body = row
    name = kind.decode("utf-8", "replace")
    try:
        event = parse_event(name, version, body)
        _require_same_columns(event, columns)
        return RecordedEvent(seq, datetime.fromisoformat(at.decode()), event)
    except UnknownEventError as error:
        raise problems.NewerJournal(f"{path}, event {seq}: {error}; use a newer version of orchestrate") from error
    except ValueError as error:
        problem = str(error)
        if isinstance(error, ValidationError):
            problem = describe_first_problem(error, "the event")
        what = f"event {seq} ({name}) does not have its shape ({problem})"
        raise problems.UnusableJournalEvent(path, seq - 1, what) from error


def _require_same_columns(event: Event, columns: Sequence[bytes | None]) -> None:
    """Make sure that an event says of itself what it is stored under: SQLite finds it by that."""
    for field, column in zip(("task", "session", "key"), columns, strict=True):
        value = getattr(event, field, None)
        if column != (None if value is None else value.encode()):
            raise ValueError(f"its {field} is {value!r}, and not the one it is stored under")


def _find_missing(first: int, last: int) -> str:
    return f"events {first} to {last}, which were recorded, are missing"


def read_all_events(path: Path) -> Iterable[RecordedEvent]:
    """Yield all events of a journal file, for readers that need them once."""
    with EventReader.open_reader(path) as reader:
        yield from reader.read_events()
