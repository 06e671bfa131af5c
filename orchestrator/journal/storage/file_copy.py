"""Journals as files that travel: a consistent copy of one, the examination of one that came from elsewhere.

Everything goes through SQLite's backup, which reads a journal as of one moment also while an engine writes to it, and
replaces one in a single transaction. Nothing here knows the columns of a table.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from orchestrator.errors import JournalProblem
from orchestrator.journal.storage.event_store import EventStore

CACHE_TABLES = ("projection",)
"""Tables that are derived from the events; they never travel, because nobody could tell whether they are true."""


def copy_journal(source: Path, target: Path) -> None:
    """Make `target`, which must not exist, a copy of a journal as of now, in one file and without caches.

    Raises:
        JournalProblem: there is no journal, it is damaged, or the copy cannot be written.
    """
    if not source.exists():
        raise JournalProblem(f"there is no journal at {source}")
    with (
        _translate_errors(source),
        closing(_open_read_only(source)) as read,
        closing(sqlite3.connect(target)) as written,
    ):
        read.backup(written)
        written.isolation_level = None
        written.execute("PRAGMA journal_mode = DELETE")
        _delete_caches(written)
        written.execute("VACUUM")


def check_journal_file(path: Path, scratch: Path) -> None:
    """Make sure that a file of unknown origin is a sound journal, brought to this program's version.

    Args:
        path: the file; it is changed only by what opening for writing does to an older version.
        scratch: a directory in which a journal can be made for comparison.

    Raises:
        JournalProblem: it is damaged, newer than this program, or holds anything that no journal holds.
    """
    with _translate_errors(path), closing(_open_read_only(path)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise JournalProblem(f"the journal {path} is damaged: {'; '.join(found)}")
    EventStore.open_writer(scratch / "pattern.db").close()
    _require_like(path, scratch / "pattern.db")
    EventStore.open_writer(path).close()
    with _translate_errors(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        _delete_caches(connection)


def replace_journal(target: Path, source: Path) -> None:
    """Give the journal `target` the content of `source` in one transaction; the caller holds the run's lock.

    Raises:
        JournalProblem: nothing was changed.
    """
    with (
        _translate_errors(target),
        closing(_open_read_only(source)) as read,
        closing(sqlite3.connect(target)) as written,
    ):
        written.execute("PRAGMA synchronous = FULL")
        read.backup(written)


def _require_like(path: Path, pattern: Path) -> None:
    """Raise JournalProblem unless a journal of this version has exactly its tables, indices and triggers.

    An older one has no others.
    """
    (version, found), (current, usual) = _read_schema(path), _read_schema(pattern)
    strange = found.keys() - usual.keys()
    if version == current:
        strange |= {name for name in usual if found.get(name) != usual[name]}
    if strange:
        names = ", ".join(sorted(map(" ".join, strange)))
        raise JournalProblem(f"{path} is no journal of a run: its {names} is not what a journal has")


def _read_schema(path: Path) -> tuple[int, dict[tuple[str, str], str | None]]:
    with _translate_errors(path), closing(_open_read_only(path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return int(version), {(kind, name): sql for kind, name, sql in rows}


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a journal read-only, trusting nothing that the file says of itself."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _delete_caches(connection: sqlite3.Connection) -> None:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if table in CACHE_TABLES:
            connection.execute(f"DELETE FROM {table}")


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise JournalProblem(f"the journal {path} cannot be copied: {error}") from error
