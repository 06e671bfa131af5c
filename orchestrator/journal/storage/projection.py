"""Reading what the engine derived from the journal last, without loading any event type: for verbs in a hurry."""

import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.journal.storage.checksums import compute_text_sum
from orchestrator.journal.storage.high_water_mark import HighWaterMark


@dataclass(frozen=True)
class StoredProjection:
    """A derived text as of event `seq`, and how far the journal is by now."""

    body: str
    seq: int
    at: datetime
    last_seq: int

    @property
    def is_current(self) -> bool:
        """True if nothing was recorded since."""
        return self.seq == self.last_seq

    @property
    def age_s(self) -> float:
        """Seconds since it was derived."""
        return (datetime.now(UTC) - self.at).total_seconds()


def read_projection(journal: Path, name: str) -> StoredProjection | None:
    """Return the projection of this name; None if there is none, for whatever reason: it can be derived anew."""
    noted = HighWaterMark(journal).read_seq()
    query = "SELECT body, seq, at, (SELECT max(seq) FROM event), sum FROM projection WHERE name = ?"
    with (
        suppress(sqlite3.Error, ValueError, TypeError),
        closing(sqlite3.connect(build_reader_uri(journal), uri=True)) as connection,
    ):
        row = connection.execute(query, (name,)).fetchone()
        if row:
            return _check_row(name, row, noted)
    return None


def build_reader_uri(journal: Path) -> str:
    """Return how SQLite opens a journal; one whose log is empty without locks, which takes a fifth of the time.

    Whoever writes to it meanwhile writes to the log first. Should a part of that come into the file while it is read,
    the sum beside the text tells.
    """
    options = "mode=ro"
    with suppress(FileNotFoundError):
        if journal.with_name(f"{journal.name}-wal").stat().st_size:
            return f"{journal.as_uri()}?{options}"
    return f"{journal.as_uri()}?{options}&immutable=1"


def _check_row(name: str, row: tuple[str, int, str, int, bytes], noted: int) -> StoredProjection | None:
    """Return a projection that is what was written, of a journal that holds at least what is noted beside it."""
    body, seq, at, last, total = row
    if compute_text_sum(name, seq, at, body) != total or last < noted:
        return None
    return StoredProjection(body, seq, datetime.fromisoformat(at), last)
