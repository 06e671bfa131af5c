"""Writing a whole journal file at once, out of events that exist: for what repairs or brings in a journal."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from orchestrator.journal import schema
from orchestrator.journal.problems import explained
from orchestrator.journal.sums import BEGINNING, Columns, chained
from orchestrator.journal.transaction import transaction

INSERT = "INSERT INTO event(seq, at, kind, v, task, session, key, body, sum) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"


def write_fresh(path: Path, rows: Iterable[Columns]) -> int:
    """A journal at `path`, which must not be in use, that holds exactly these events; durable when this returns.

    Returns:
        The last event's seq.

    Raises:
        JournalProblem: it cannot be written.
    """
    with explained(path):
        path.unlink(missing_ok=True)
        schema.create(path)
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            with transaction(connection):
                written = _Written()
                connection.executemany(INSERT, written.follow(rows))
                fence = (written.epoch, written.seq, written.total)
                connection.execute("UPDATE fence SET epoch = ?, seq = ?, sum = ?", fence)
        finally:
            connection.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return written.seq


class _Written:
    """The last event that was written, and the highest epoch any tells of."""

    def __init__(self) -> None:
        self.seq, self.total, self.epoch = 0, BEGINNING, 0

    def follow(self, rows: Iterable[Columns]) -> Iterator[tuple[object, ...]]:
        for row in rows:
            self.seq, self.total = row[0], chained(self.total, row)
            if row[2] == b"engine.started":
                self.epoch = max(self.epoch, json.loads(row[7])["epoch"])
            yield (*(column_text(column) for column in row), self.total)


def column_text(column: int | bytes | None) -> int | str | None:
    """A column as SQLite is to store it: texts as texts."""
    return column.decode() if isinstance(column, bytes) else column
