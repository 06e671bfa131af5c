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

from orchestrator.domain.encoding import decode_json
from orchestrator.errors import JournalProblem, SearchUnavailable
from orchestrator.journal.blobs import Blobs
from orchestrator.journal.index import Index, index_lock
from orchestrator.journal.problems import Damaged
from orchestrator.journal.reader import Reader
from orchestrator.journal.sums import Columns
from orchestrator.journal.words import Words, match_of, phrase_of, words_of
from orchestrator.ports.search import MARKS, Hit

_CHUNK = 500
_SNIPPET_WORDS = 32
_LOOK_AT_MOST = 20_000


class Found(NamedTuple):
    """What was found, and why not the whole journal was searched: None if it was."""

    hits: list[Hit]
    damage: Damaged | None = None


def find(directory: Path, query: str, limit: int, task: str | None = None, session: str | None = None) -> Found:
    """The newest events in which all words of the query occur, newest first.

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
    wanted = _Wanted(match_of(query), limit, task, session)
    if not wanted.said or limit < 1:
        return Found([])
    with closing(Reader.open_reader(directory / "journal.db")) as reader:
        source = _Source(directory, reader)
        try:
            return _find(source, wanted)
        except sqlite3.DatabaseError:
            with suppress(OSError):
                Index.delete(directory)
        try:
            return _find(source, wanted)
        except sqlite3.Error as error:
            raise SearchUnavailable(f"the search index in {directory} cannot be used: {error}; delete it") from error


def search(directory: Path, query: str, limit: int, task: str | None = None, session: str | None = None) -> list[Hit]:
    """What `find` finds."""
    return find(directory, query, limit, task, session).hits


def catch_up(directory: Path, may_go_on: Callable[[], bool]) -> None:
    """Let the index follow the journal as long as it may, unless somebody else is at it.

    Raises:
        JournalProblem: the journal cannot be read.
        OSError, sqlite3.Error: the index cannot be written.
    """
    with closing(Reader.open_reader(directory / "journal.db")) as reader, index_lock(directory) as has_lock:
        if has_lock:
            with closing(Index.open(directory)) as index:
                _follow(_Source(directory, reader), index, may_go_on)


class _Source:
    """A journal and its blobs, as words."""

    def __init__(self, directory: Path, reader: Reader) -> None:
        self.directory = directory
        self.reader = reader
        self._blobs = Blobs(directory / "blobs")

    def body(self, row: Columns) -> dict[str, Any]:
        """Return the body of an event; an empty one where none can be read, for then it says nothing."""
        try:
            body = decode_json(row[7])
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def words(self, row: Columns) -> Words:
        """Return what an event says."""
        return words_of(self.body(row), self._blob)

    def _blob(self, sha: str) -> str | None:
        try:
            return self._blobs.get(sha).decode("utf-8", "replace")
        except JournalProblem:
            return None


@dataclass(frozen=True)
class _Wanted:
    """What is looked for; `said` is an FTS5 expression."""

    said: str
    limit: int
    task: str | None
    session: str | None

    @property
    def match(self) -> str:
        """The expression with what the events are to be about: names as phrases, which `fits` makes exact."""
        about = " AND ".join(filter(None, (phrase_of(name) for name in (self.task, self.session) if name)))
        return f"{{said}} : ({self.said})" + (f" AND {{about}} : ({about})" if about else "")

    def fits(self, row: Columns, body: Mapping[str, object]) -> bool:
        """Whether an event is about the task and of the session."""
        if self.session is not None and row[5] != self.session.encode("utf-8", "surrogatepass"):
            return False
        if self.task is None or row[4] == self.task.encode("utf-8", "surrogatepass"):
            return True
        return self.task in (body.get("path"), body.get("unit"))


def _find(source: _Source, wanted: _Wanted) -> Found:
    index, damage = _current(source)
    with closing(index):
        places = islice(index.matching(wanted.match), _LOOK_AT_MOST)
        rows = (row for seq in places for row in source.reader.row(seq) if wanted.fits(row, source.body(row)))
        return Found([_hit(source, index, wanted.said, row) for row in islice(rows, wanted.limit)], damage)


def _current(source: _Source) -> tuple[Index, Damaged | None]:
    """The index of the whole journal, or as far as that can be read; in memory where none can be written."""
    with index_lock(source.directory, waits=True) as has_lock:
        index = None
        try:
            if has_lock:
                index = Index.open(source.directory)
                return index, _follow(source, index)
        except (sqlite3.OperationalError, OSError):  # a disk that is full or read-only
            if index:
                index.close()
    index = Index.in_memory()
    return index, _follow(source, index)


def _hit(source: _Source, index: Index, said: str, row: Columns) -> Hit:
    turn = source.body(row).get("turn")
    return Hit(
        seq=row[0],
        at=datetime.fromisoformat(row[1].decode()),
        kind=row[2].decode(),
        task=row[4].decode() if row[4] is not None else None,
        session=row[5].decode() if row[5] is not None else None,
        turn=turn if isinstance(turn, int) else None,
        snippet=" ".join(index.snippet(said, source.words(row).said, MARKS, _SNIPPET_WORDS).split()),
    )


def _follow(source: _Source, index: Index, may_go_on: Callable[[], bool] = lambda: True) -> Damaged | None:
    """Index what was recorded since; the damage at which that ends, if it does."""
    seq, mark = index.place()
    if seq and source.reader.mark(seq) != mark:
        index.clear()
        seq = 0
    rows = source.reader.rows(after=seq)
    damage = None
    while damage is None and may_go_on():
        batch: list[Columns] = []
        try:
            batch.extend(islice(rows, _CHUNK))
        except Damaged as problem:
            damage = problem
        if not batch:
            break
        last = batch[-1][0]
        index.add(((row[0], source.words(row)) for row in batch), last, source.reader.mark(last))
    return damage
