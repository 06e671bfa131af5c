"""The event table in SQLite: append-only by trigger, WAL with synchronous=FULL, one writer, readers in any process."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from orchestrator.domain.event import Recorded, UnknownEventError, parse_event, to_body
from orchestrator.errors import JournalProblem

SCHEMA_VERSION = 1
_SCHEMA = f"""
CREATE TABLE event(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, v INTEGER NOT NULL,
    task TEXT, session TEXT, key TEXT, body TEXT NOT NULL
);
CREATE UNIQUE INDEX event_once ON event(kind, key) WHERE key IS NOT NULL;
CREATE INDEX event_of_session ON event(session, seq) WHERE session IS NOT NULL;
CREATE TABLE projection(name TEXT PRIMARY KEY, seq INTEGER NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL);
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
PRAGMA user_version = {SCHEMA_VERSION};
"""
_COLUMNS = "seq, at, kind, v, body"
_INSERT = "INSERT INTO event(seq, at, kind, v, task, session, key, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"


class Store:
    """One journal file. A writer must be the only one (the run's lock sees to that); readers may be many."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open_writer(cls, path: Path) -> "Store":
        """Open for writing, creating the file if it does not exist.

        Raises:
            JournalProblem: the file cannot be opened or was written by a newer version of this program.
        """
        with _explained(path):
            if not path.exists():
                _create(path)
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            return cls(path, connection)._checked()

    @classmethod
    def open_reader(cls, path: Path) -> "Store":
        """Open read-only, also while another process writes.

        Raises:
            JournalProblem: there is no journal, or it was written by a newer version of this program.
        """
        if not path.exists():
            raise JournalProblem(f"there is no journal at {path}")
        with _explained(path):
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
            return cls(path, connection)._checked()

    def _checked(self) -> "Store":
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise JournalProblem(
                f"{self.path} has journal schema {version}, this program reads {SCHEMA_VERSION}: "
                "use the version of orchestrate that wrote it, or a newer one"
            )
        return self

    def insert(self, batch: Sequence[Recorded], projections: Mapping[str, str] = MappingProxyType({})) -> None:
        """Write events in one durable transaction, and with them what is derived from all events up to the last one.

        A projection (name → text) is a cache for readers: it may be missing or stale, and nothing depends on it.

        Raises:
            JournalProblem: nothing of the batch was written.
        """
        with _explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_INSERT, (_row(recorded) for recorded in batch))
                rows = [(name, batch[-1].seq, _at(batch[-1]), body) for name, body in projections.items()]
                self._connection.executemany("INSERT OR REPLACE INTO projection VALUES(?, ?, ?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, after: int = 0, session: str | None = None, kinds: Sequence[str] = ()) -> Iterator[Recorded]:
        """Events with a seq above `after`, in order; only those of one session or of some kinds if they are named.

        Raises:
            JournalProblem: an event is damaged, or of a kind or version this program does not know.
        """
        clause, values = ("AND session = ?", [after, session]) if session else ("", [after])
        if kinds:
            clause, values = f"{clause} AND kind IN ({', '.join('?' * len(kinds))})", [*values, *kinds]
        with _explained(self.path):
            yield from map(
                self._parse,
                self._connection.execute(f"SELECT {_COLUMNS} FROM event WHERE seq > ? {clause} ORDER BY seq", values),
            )

    def last_seq(self) -> int:
        """The seq of the newest event, 0 when there is none."""
        with _explained(self.path):
            return int(self._connection.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0])

    def _parse(self, row: tuple[int, str, str, int, str]) -> Recorded:
        seq, at, kind, version, body = row
        try:
            return Recorded(seq, datetime.fromisoformat(at), parse_event(kind, version, body))
        except UnknownEventError as error:
            raise JournalProblem(f"{self.path}, event {seq}: {error}; use a newer version of orchestrate") from error
        except ValidationError as error:
            raise JournalProblem(f"{self.path}, event {seq} ({kind}) is damaged: {error}") from error

    def close(self) -> None:
        """Close the file; a writer's WAL is folded back into it."""
        self._connection.close()


def _create(path: Path) -> None:
    """Make a journal without events; a process that is killed meanwhile leaves none."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
    finally:
        connection.close()
    new.replace(path)


def _at(recorded: Recorded) -> str:
    return recorded.at.astimezone(UTC).isoformat(timespec="microseconds")


def _row(recorded: Recorded) -> tuple[object, ...]:
    event = recorded.event
    return (
        recorded.seq,
        _at(recorded),
        event.kind,
        event.v,
        event.task,
        getattr(event, "session", None),
        getattr(event, "key", None),
        to_body(event),
    )


class _explained:
    """Turns SQLite's errors into ours, with the file and what to do."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        text = str(error)
        advice = next((advice for sign, advice in _ADVICE.items() if sign in text), "see the disk and the file's owner")
        raise JournalProblem(f"the journal {self._path} cannot be used: {text}; {advice}") from error


_ADVICE = {
    "full": "free some disk space, then resume the run; nothing recorded before is lost",
    "readonly": "make the state directory writable, or choose another with --state DIR",
    "unable to open": "make the state directory writable, or choose another with --state DIR",
    "malformed": "the file is corrupt: restore it from a backup; landed work is safe in git",
    "not a database": "the file is no journal: restore it from a backup; landed work is safe in git",
    "UNIQUE": "an effect was recorded twice, which is a defect of orchestrate: please report it",
}


def read_all(path: Path) -> Iterable[Recorded]:
    """All events of a journal file, for readers that need them once."""
    store = Store.open_reader(path)
    try:
        yield from store.read()
    finally:
        store.close()
