"""Full-text search over everything that was said and done, in an index of its own beside the journal.

The index is a cache: it follows the journal from where it was left, is made anew when it does not fit, and may be
deleted. It holds no text, only where words occur; what is shown is read from the journal and its blobs.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.domain.text.encoding import decode_json
from orchestrator.errors import JournalProblem, SearchUnavailable
from orchestrator.journal.full_text.event_words import EventWords, build_match_expression, build_phrase, extract_words
from orchestrator.journal.full_text.index import SearchIndex, hold_index_lock
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.checksums import EventColumns
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.journal.storage.problems import DamagedJournal
from orchestrator.ports.journal_search import MATCH_MARKS, SearchHit

_CHUNK = 500
_SNIPPET_WORDS = 32
_LOOK_AT_MOST = 20_000


class EventSearchResult(NamedTuple):
    """The events found, and why not the whole journal was searched: None if it was."""

    hits: list[SearchHit]
    damage: DamagedJournal | None = None


def find_events(
    directory: Path, query: str, limit: int, task: str | None = None, session: str | None = None
) -> EventSearchResult:
    """Return the newest events in which all words of the query occur, newest first.

    Args:
        directory: the run's.
        query: words, "phrases" and beginnings*; nothing in it can be an error.
        limit: how many at most.
        task: only events about this task (in a migration: this file).
        session: only events of this conversation.

    Raises:
        JournalProblem: the journal cannot be read at all. Of a damaged one, what can be read is searched.
        SearchUnavailable: the journal can be read, but no index can be made of it.
    """
    wanted = _Wanted(build_match_expression(query), limit, task, session)
    if not wanted.said or limit < 1:
        return EventSearchResult([])
    with EventReader.open_reader(directory / "journal.db") as reader:
        source = _Source(directory, reader)
        try:
            return _find_hits(source, wanted)
        except sqlite3.DatabaseError:
            with suppress(OSError):
                SearchIndex.delete_index(directory)
        try:
            return _find_hits(source, wanted)
        except sqlite3.Error as error:
            raise SearchUnavailable(f"the search index in {directory} cannot be used: {error}; delete it") from error


def search_events(
    directory: Path, query: str, limit: int, task: str | None = None, session: str | None = None
) -> list[SearchHit]:
    """Return what `find_events` finds."""
    return find_events(directory, query, limit, task, session).hits


def update_index(directory: Path, may_go_on: Callable[[], bool]) -> None:
    """Let the index follow the journal as long as it may, unless somebody else is at it.

    Raises:
        JournalProblem: the journal cannot be read.
        OSError, sqlite3.Error: the index cannot be written.
    """
    with EventReader.open_reader(directory / "journal.db") as reader, hold_index_lock(directory) as has_lock:
        if has_lock:
            with closing(SearchIndex.open_index(directory)) as index:
                _index_new_events(_Source(directory, reader), index, may_go_on)


class _Source:
    """A journal and its blobs, as words."""

    def __init__(self, directory: Path, reader: EventReader) -> None:
        self.directory = directory
        self.reader = reader
        self._blobs = BlobStore(directory / "blobs")

    def parse_body(self, row: EventColumns) -> dict[str, Any]:
        """Return the body of an event; an empty one where none can be read, for then it says nothing."""
        try:
            body = decode_json(row[7])
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def read_words(self, row: EventColumns) -> EventWords:
        """Return what an event says."""
        return extract_words(self.parse_body(row), self._read_blob)

    def _read_blob(self, sha: str) -> str | None:
        try:
            return self._blobs.read_blob(sha).decode("utf-8", "replace")
        except JournalProblem:
            return None


@dataclass(frozen=True)
class _Wanted:
    """A query taken apart; `said` is an FTS5 expression."""

    said: str
    limit: int
    task: str | None
    session: str | None

    @property
    def match(self) -> str:
        """The expression with what the events are to be about: names as phrases, which `fits` makes exact."""
        about = " AND ".join(filter(None, map(build_phrase, filter(None, (self.task, self.session)))))
        return f"{{said}} : ({self.said})" + (f" AND {{about}} : ({about})" if about else "")

    def fits_event(self, row: EventColumns, body: Mapping[str, object]) -> bool:
        """Return True if an event is about the task and of the session."""
        if self.session is not None and row[5] != self.session.encode("utf-8", "surrogatepass"):
            return False
        if self.task is None or row[4] == self.task.encode("utf-8", "surrogatepass"):
            return True
        return self.task in (body.get("path"), body.get("unit"))


def _find_hits(source: _Source, wanted: _Wanted) -> EventSearchResult:
    index, damage = _open_current_index(source)
    with closing(index):
        rows = (
            row
            for seq in islice(index.find_matches(wanted.match), _LOOK_AT_MOST)
            for row in source.reader.read_row(seq)
            if wanted.fits_event(row, source.parse_body(row))
        )
        hits = [_build_hit(source, index, wanted.said, row) for row in islice(rows, wanted.limit)]
        return EventSearchResult(hits, damage)


def _open_current_index(source: _Source) -> tuple[SearchIndex, DamagedJournal | None]:
    """Return the index of the whole journal, or as far as that can be read; in memory where none can be written."""
    with hold_index_lock(source.directory, waits=True) as has_lock:
        index = None
        try:
            if has_lock:
                index = SearchIndex.open_index(source.directory)
                return index, _index_new_events(source, index)
        except (sqlite3.OperationalError, OSError):  # a disk that is full or read-only
            if index:
                index.close()
    index = SearchIndex.open_in_memory()
    return index, _index_new_events(source, index)


def _build_hit(source: _Source, index: SearchIndex, said: str, row: EventColumns) -> SearchHit:
    turn = source.parse_body(row).get("turn")
    return SearchHit(
        seq=row[0],
        at=datetime.fromisoformat(row[1].decode()),
        kind=row[2].decode(),
        task=row[4].decode() if row[4] is not None else None,
        session=row[5].decode() if row[5] is not None else None,
        turn=turn if isinstance(turn, int) else None,
        snippet=" ".join(index.build_snippet(said, source.read_words(row).said, MATCH_MARKS, _SNIPPET_WORDS).split()),
    )


def _index_new_events(
    source: _Source, index: SearchIndex, may_go_on: Callable[[], bool] = lambda: True
) -> DamagedJournal | None:
    """Index what was recorded since; return the damage at which that ends, if it does."""
    seq, mark = index.read_position()
    if seq and source.reader.read_event_mark(seq) != mark:
        index.clear()
        seq = 0
    rows = source.reader.read_rows(after=seq)
    damage = None
    while damage is None and may_go_on():
        batch: list[EventColumns] = []
        try:
            batch.extend(islice(rows, _CHUNK))
        except DamagedJournal as problem:
            damage = problem
        if not batch:
            break
        last = batch[-1][0]
        documents = ((row[0], source.read_words(row)) for row in batch)
        index.add_documents(documents, last, source.reader.read_event_mark(last))
    return damage
