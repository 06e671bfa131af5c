"""Salvage from a damaged journal file: the events up to the first that is lost, and those after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from orchestrator.domain.event import UnknownEventError, parse_event
from orchestrator.journal.damage.sqlite_pages import RecordPosition, SqlitePages, SqliteValue, list_page_sizes
from orchestrator.journal.storage.checksums import INITIAL_SUM, EventColumns, chain_sum

_COLUMNS = 8
_LOOK_AT = 100


@dataclass(frozen=True)
class SalvagedEvent:
    """An event as it lies in the file; `is_sound` when its sum follows from the event before."""

    row: EventColumns
    is_sound: bool


def salvage_journal(path: Path, noted: int, until: int | None = None) -> "JournalSalvage":
    """Return what can be had of a damaged file, read with the page size that gives most.

    Args:
        path: the file.
        noted: the last event that was noted as durable, 0 if nobody knows; what is above it must be sound.
        until: the last event that may be kept, because nothing can go on from the one after it.
    """
    tries = (JournalSalvage(path, size, noted, until) for size in list_page_sizes(path))
    return max(tries, key=lambda tried: tried.last_sound_seq)


class JournalSalvage:
    """The events of a damaged file. The file is only read, and SQLite has no part in it.

    An event of a file with sums is taken for sound if its sum follows from the one before; in a file of schema 1, which
    has none, if it has the shape of its kind.
    """

    def __init__(self, path: Path, size: int, noted: int, until: int | None) -> None:
        self._noted = noted
        self._until = until
        self._pages = SqlitePages(path, size)
        self.places: dict[int, list[RecordPosition]] = {}
        for seq, place in self._pages.iterate_cells():
            self.places.setdefault(seq, []).append(place)
        newest = sorted(self.places)[-_LOOK_AT:]
        self._has_sums = any(total for seq in newest for _, total in self._list_candidates(seq))
        self.last_sound_seq = 0
        """The last event before the first that is lost; 0 if not even the first can be read."""
        for row in self.read_sound_rows():
            self.last_sound_seq = row[0]

    def read_sound_rows(self) -> Iterator[EventColumns]:
        """Yield every event before the first that is lost, in order."""
        previous: bytes | None = INITIAL_SUM
        last = len(self.places) if self._until is None else self._until
        for seq in range(1, last + 1):
            row, previous = self._find_sound(seq, previous)
            if row is None:
                return
            yield row

    def read_later_events(self) -> Iterator[SalvagedEvent]:
        """Yield what can be read after it, in order."""
        previous: bytes | None = None
        for seq in sorted(self.places):
            if seq <= self.last_sound_seq + 1:
                continue
            row, total = self._find_sound(seq, previous) if previous else (None, None)
            if row is not None:
                previous = total
                yield SalvagedEvent(row, is_sound=True)
                continue
            candidates = self._list_candidates(seq) if not self._noted or seq <= self._noted else ()
            found = next(((row, total) for row, total in candidates if _has_shape(row)), None)
            previous = found[1] if found else None
            if found:
                yield SalvagedEvent(found[0], is_sound=False)

    def _find_sound(self, seq: int, previous: bytes | None) -> tuple[EventColumns | None, bytes | None]:
        """Return the event that follows the one with the sum `previous`, and its own sum."""
        for row, total in self._list_candidates(seq):
            if not self._has_sums:
                if _has_shape(row):
                    return row, INITIAL_SUM
            elif total == chain_sum(previous or b"", row):
                return row, total
        return None, None

    def _list_candidates(self, seq: int) -> Iterator[tuple[EventColumns, bytes | None]]:
        """Yield what lies in the file under this seq and may be an event, with its sum if it has one."""
        for place in self.places.get(seq, ()):
            values = self._pages.read_record(place)
            if values and values[0] is None and _is_next(values):
                total = values[_COLUMNS] if len(values) > _COLUMNS else None
                yield cast(EventColumns, (seq, *values[1:_COLUMNS])), cast(bytes | None, total)


def _is_next(values: list[SqliteValue]) -> bool:
    if len(values) not in {_COLUMNS, _COLUMNS + 1} or not isinstance(values[3], int):
        return False
    needed, optional = (values[1], values[2], values[7]), (*values[4:7], *values[_COLUMNS:])
    return set(map(type, needed)) == {bytes} and int not in map(type, optional)


def _has_shape(row: EventColumns) -> bool:
    try:
        parse_event(row[2].decode(), row[3], row[7])
    except UnknownEventError:
        return True  # of another version of this program
    except (ValidationError, ValueError):
        return False
    return True
