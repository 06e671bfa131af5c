"""The tables of a journal file, and how a file of an older schema becomes one of today's."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from orchestrator.journal.storage.checksums import INITIAL_SUM, chain_sum
from orchestrator.journal.storage.problems import DamagedJournal, NewerJournal
from worktrees.durable_files import move_durably

SCHEMA_VERSION = 2
_APPLICATION = 0x4F726300
_TABLES = """
CREATE TABLE event(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, v INTEGER NOT NULL,
    task TEXT, session TEXT, key TEXT, body TEXT NOT NULL, sum BLOB
);
CREATE UNIQUE INDEX event_once ON event(kind, key) WHERE key IS NOT NULL;
CREATE INDEX event_of_session ON event(session, seq) WHERE session IS NOT NULL;
CREATE TABLE projection(name TEXT PRIMARY KEY, seq INTEGER NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL, sum BLOB);
"""
_TRIGGERS = """
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""
_FENCE = f"""
CREATE INDEX event_of_engine ON event(seq) WHERE kind = 'engine.started';
CREATE TABLE fence(
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL,
    seq INTEGER NOT NULL, sum BLOB NOT NULL
);
INSERT INTO fence VALUES(1, 0, '', 0, x'{INITIAL_SUM.hex()}');
"""
"""One row: the epoch of the process that may write and who it is, and the last event with its sum."""
EVENT_COLUMNS = "seq, at, kind, v, task, session, key, body"
_HAS_SUMS = "SELECT count(*) FROM pragma_table_info('event') WHERE name = 'sum'"


@contextmanager
def open_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold a transaction: BEGIN IMMEDIATE … COMMIT, or ROLLBACK when something is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def create_journal_file(path: Path) -> None:
    """Make a journal without events; a process that is killed meanwhile leaves none."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        script = f"{_TABLES} {_TRIGGERS} {_FENCE} {_format_version(SCHEMA_VERSION)}"
        connection.executescript(f"BEGIN; {script} COMMIT;")
    move_durably(new, path)


def read_schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema of an open journal.

    Raises:
        TooNew: a newer program wrote it.
        Damaged: what the header says does not agree with itself or with the tables.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    again = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if again != _compute_application_id(version):
        raise DamagedJournal(path, 0, f"it is no journal, or its header is damaged (it says {version} and {again})")
    if version > SCHEMA_VERSION:
        raise NewerJournal(
            f"{path} has journal schema {version}, this program reads 1 to {SCHEMA_VERSION}: "
            "use the version of orchestrate that wrote it, or a newer one"
        )
    if bool(connection.execute(_HAS_SUMS).fetchone()[0]) != (version > 1):
        raise DamagedJournal(path, 0, f"its tables are not those of journal schema {version}")
    return version


def _compute_application_id(version: int) -> int:
    """Return the schema said a second time, so that a flipped bit is not taken for another version."""
    if version == 1:
        return 0
    return _APPLICATION + version


def _format_version(version: int) -> str:
    return f"PRAGMA user_version = {version}; PRAGMA application_id = {_compute_application_id(version)};"


def migrate_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Bring an older journal up to date, in one transaction.

    Raises:
        TooNew: it was written by a newer version of this program.
        Damaged: its header is damaged.
    """
    if read_schema_version(connection, path) == SCHEMA_VERSION:
        return
    with open_transaction(connection):
        while (version := read_schema_version(connection, path)) < SCHEMA_VERSION:
            _MIGRATIONS[version](connection)
            _run_statements(connection, _format_version(version + 1))


def _add_sums_and_fence(connection: sqlite3.Connection) -> None:
    _run_statements(connection, "DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_deleted")
    connection.execute("ALTER TABLE event ADD COLUMN sum BLOB")
    connection.execute("ALTER TABLE projection ADD COLUMN sum BLOB")
    seq, previous, after = 0, INITIAL_SUM, -1
    while rows := connection.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE seq > ? ORDER BY seq LIMIT 10000", (after,)
    ).fetchall():
        sums = []
        for row in rows:
            seq, previous = row[0], chain_sum(previous, row)
            sums.append((previous, seq))
        connection.executemany("UPDATE event SET sum = ? WHERE seq = ?", sums)
        after = seq
    _run_statements(connection, _TRIGGERS + _FENCE)
    connection.execute("UPDATE fence SET seq = ?, sum = ?", (seq, previous))


def _run_statements(connection: sqlite3.Connection, script: str) -> None:
    """Run several statements inside the transaction that is open; `executescript` would end it."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


_MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {1: _add_sums_and_fence}
"""Schema → what makes of it the next one."""
