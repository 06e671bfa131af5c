"""Writing a whole journal file at once, out of events that exist: for what repairs or brings in a journal."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from orchestrator.journal.storage import schema
from orchestrator.journal.storage.checksums import INITIAL_SUM, EventColumns, chain_sum
from orchestrator.journal.storage.problems import translate_sqlite_errors
from orchestrator.journal.storage.schema import open_transaction
from worktrees.durable_files import sync_file

INSERT_EVENT = "INSERT INTO event(seq, at, kind, v, task, session, key, body, sum) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"


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
            connection.executemany(INSERT_EVENT, written.build_insert_rows(rows))
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
            yield (*(decode_column(column) for column in row), self.total)


def decode_column(column: int | bytes | None) -> int | str | None:
    """Return a column as SQLite is to store it: texts as texts."""
    if isinstance(column, bytes):
        return column.decode()
    return column
