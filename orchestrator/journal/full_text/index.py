"""The file of the search index: FTS5 without content, and how far in the journal it is."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.journal.full_text.event_words import EventWords
from orchestrator.journal.storage.schema import open_transaction
from worktrees.errors import LockTimeout
from worktrees.locks.file_lock import try_file_lock, wait_for_file_lock

INDEX_FILE = "search.db"
_PATIENCE_S = 60.0
_VERSION = 1
_TABLES = """
CREATE VIRTUAL TABLE word USING fts5(said, about, content='', columnsize=0, prefix='2 3 4', tokenize='unicode61');
CREATE TABLE place(seq INTEGER NOT NULL, mark BLOB NOT NULL);
INSERT INTO place VALUES(0, x'');
"""


@contextmanager
def hold_index_lock(directory: Path, *, waits: bool = False) -> Iterator[bool]:
    """Hold the index of a run for this thread; false if it is held elsewhere, or where nothing can be written.

    With `waits` it is held elsewhere only if it is so for a minute.
    """
    path = directory / "search.lock"
    try:
        descriptor = wait_for_file_lock(path, patience_s=_PATIENCE_S) if waits else try_file_lock(path)
    except (LockTimeout, OSError):
        descriptor = None
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


class SearchIndex:
    """One index. Whoever writes holds its lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        if self._connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            self.clear()

    @classmethod
    def open_index(cls, directory: Path) -> "SearchIndex":
        """Open the index of a run; one that cannot be read is made anew."""
        try:
            return cls(_connect(directory / INDEX_FILE))
        except sqlite3.DatabaseError:
            cls.delete_index(directory)
            return cls(_connect(directory / INDEX_FILE))

    @classmethod
    def open_in_memory(cls) -> "SearchIndex":
        """Open an index that is gone when it is closed."""
        return cls(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))

    @staticmethod
    def delete_index(directory: Path) -> None:
        """Delete a run's index."""
        for suffix in ("", "-wal", "-shm"):
            (directory / f"{INDEX_FILE}{suffix}").unlink(missing_ok=True)

    def clear(self) -> None:
        """Begin from nothing."""
        with open_transaction(self._connection):
            self._connection.execute("DROP TABLE IF EXISTS word")
            self._connection.execute("DROP TABLE IF EXISTS place")
            for statement in _TABLES.strip().split(";\n"):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    def read_position(self) -> tuple[int, bytes]:
        """Return the last event that is indexed, and the mark of it in its journal."""
        seq, mark = self._connection.execute("SELECT seq, mark FROM place").fetchone()
        return seq, mark

    def add_documents(self, documents: Iterable[tuple[int, EventWords]], seq: int, mark: bytes) -> None:
        """Return index events up to `seq`, all or none."""
        with open_transaction(self._connection):
            self._connection.executemany(
                "INSERT INTO word(rowid, said, about) VALUES(?, ?, ?)",
                ((number, words.said, words.about) for number, words in documents),
            )
            self._connection.execute("UPDATE place SET seq = ?, mark = ?", (seq, mark))

    def find_matches(self, match: str) -> Iterator[int]:
        """Return the events that fit an FTS5 expression, newest first."""
        query = "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC"
        return (seq for (seq,) in self._connection.execute(query, (match,)))

    def build_snippet(self, match: str, said: str, marks: tuple[str, str], words: int) -> str:
        """Return the part of a text where an expression fits best, with the matches marked."""
        self._connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.shown USING fts5(said, tokenize='unicode61')")
        self._connection.execute("DELETE FROM temp.shown")
        self._connection.execute("INSERT INTO temp.shown VALUES(?)", (said,))
        query = "SELECT snippet(shown, 0, ?, ?, '…', ?) FROM temp.shown WHERE shown MATCH ?"
        row = self._connection.execute(query, (*marks, words, match)).fetchone()
        return str(row[0]) if row else ""

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
    except BaseException:
        connection.close()
        raise
    return connection
