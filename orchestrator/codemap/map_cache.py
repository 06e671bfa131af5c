"""The cache of what was parsed and drawn before, beside the repository's state: one small database for all runs.

It is a cache: where it is damaged, locked or full, what was looked for is not there, and only time is lost. It never
takes more than it may, and whoever likes deletes it.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from worktrees.safety.private_directory import create_private_directory

CACHE_FOLDER = "codemap"
"""The directory below a repository's state directory."""
_FILE = "cache.sqlite3"
_SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, content BLOB NOT NULL)"
_MIB = 1024 * 1024
_WAIT_S = 0.5
_AT_ONCE = 500
_MAX_ENTRY_BYTES = 4 * _MIB
_ROOM = 0.7
"""The part of the allowed size that is left once the oldest entries had to go."""


class MapCache:
    """Contents by key, in a directory of our own. All of it blocks."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @classmethod
    def open_for(cls, state: Path, mebibytes: int) -> "MapCache":
        """Return the one of a state directory, which need not exist; with 0 it keeps nothing."""
        return cls(state / CACHE_FOLDER, mebibytes * _MIB)

    def read_entries(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the entries that are there and whole."""
        if not self._max_bytes or not (self._folder / _FILE).is_file():
            return {}
        found: dict[str, bytes] = {}
        try:
            with closing(self._connect()) as connection:
                for some in _divide(keys):
                    marks = ",".join("?" * len(some))
                    rows = connection.execute(f"SELECT key, content FROM entries WHERE key IN ({marks})", some)
                    for key, stored in rows:
                        content = _unpack(key, stored)
                        if content is not None:
                            found[key] = content
        except sqlite3.Error as error:
            self._remove_if_damaged(error)
        return found

    def write_entries(self, entries: Mapping[str, bytes]) -> None:
        """Keep entries; the oldest ones go where all together would take too much."""
        if not self._max_bytes or not entries:
            return
        rows = []
        for key, content in entries.items():
            packed = _pack(key, content)
            if len(packed) <= _MAX_ENTRY_BYTES:
                rows.append((key, packed))
        try:
            create_private_directory(self._folder)
            with closing(self._connect()) as connection:
                connection.execute(_SCHEMA)
                with connection:
                    connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", rows)
                self._limit_size(connection)
        except sqlite3.Error as error:
            self._remove_if_damaged(error)
        except OSError:
            return

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._folder / _FILE, timeout=_WAIT_S)
        connection.execute("PRAGMA synchronous = OFF")
        pages = max(self._max_bytes, _MIB) // _read_number(connection, "page_size")
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    def _limit_size(self, connection: sqlite3.Connection) -> None:
        """Remove the oldest entries until all take less than is allowed; their room is used again."""
        page = _read_number(connection, "page_size")
        used = (_read_number(connection, "page_count") - _read_number(connection, "freelist_count")) * page
        if used <= self._max_bytes * _ROOM:
            return
        surplus = used - self._max_bytes * _ROOM / 2
        last = 0
        for row, size in connection.execute("SELECT rowid, length(content) FROM entries ORDER BY rowid"):
            surplus -= size
            last = row
            if surplus <= 0:
                break
        with connection:
            connection.execute("DELETE FROM entries WHERE rowid <= ?", (last,))

    def _remove_if_damaged(self, error: sqlite3.Error) -> None:
        """Remove a database that cannot be used; one that is only locked by another run stays."""
        if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode in _PASSING:
            return
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                (self._folder / f"{_FILE}{suffix}").unlink(missing_ok=True)


_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


def _read_number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _divide(keys: Iterable[str]) -> Iterator[Sequence[str]]:
    waiting = iter(keys)
    while some := tuple(islice(waiting, _AT_ONCE)):
        yield some


def _pack(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest() + zlib.compress(content, 1)


def _unpack(key: str, stored: object) -> bytes | None:
    """Return the content of an entry; None for one that is damaged, or of another key."""
    size = hashlib.sha256().digest_size
    if not isinstance(stored, bytes) or len(stored) <= size:
        return None
    try:
        content = zlib.decompressobj().decompress(stored[size:], 16 * _MAX_ENTRY_BYTES)
    except zlib.error:
        return None
    if hashlib.sha256(key.encode() + content).digest() != stored[:size]:
        return None
    return content
