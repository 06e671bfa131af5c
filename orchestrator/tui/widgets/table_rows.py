"""The content of a table: rows by key, and columns of fixed widths; a narrow table drops less important ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a frame is painted by these rows before Textual is loaded
    from orchestrator.tui.widgets.styled_text import Cell

_GAP = 2


@dataclass(frozen=True)
class CellContext:
    """The circumstances in which cells are rendered."""

    is_ascii: bool
    now: datetime


@dataclass(frozen=True)
class Column:
    """A column of `width` cells, rendered from what a row is about by `cell`.

    Columns of `priority` 0 always stay; of the others, those with the highest number go first. Those that are said to
    grow share what the others leave.
    """

    key: str
    title: str
    width: int
    priority: int = 0
    grows: bool = False
    to_the_right: bool = False
    cell: Callable[[Any, CellContext], "Cell"] = lambda _item, _context: ""


@dataclass(frozen=True)
class Row:
    """A row: what `key` names is the same from one `show_rows` to the next. `style` is that of all its cells."""

    key: str
    cells: Mapping[str, "Cell"] = field(default_factory=lambda: MappingProxyType({}))
    style: str = ""


def build_row(key: str, item: object, columns: Iterable[Column], context: CellContext, style: str = "") -> Row:
    """Return the row of an item, with a cell for each column."""
    return Row(key, {column.key: column.cell(item, context) for column in columns}, style)


@dataclass(frozen=True)
class ColumnExtent:
    """The place of a column: its first cell and its width in cells."""

    column: Column
    x: int
    width: int


def lay_out_columns(columns: Sequence[Column], width: int, margin: int = 0) -> list[ColumnExtent]:
    """Return the columns that fit into a width, from left to right, after `margin` cells."""
    shown = list(columns)
    while _needed(shown) + margin > width and (last := _least_important(shown)) is not None:
        shown.remove(last)
    spare = max(width - margin - _needed(shown), 0)
    growing = sum(column.grows for column in shown)
    found, x = [], margin
    for column in shown:
        share = -(-spare // growing) if column.grows else 0
        wide = min(column.width + share, width - x)
        if wide <= 0:
            break
        found.append(ColumnExtent(column, x, wide))
        x += wide + _GAP
        spare -= share
        growing -= column.grows
    return found


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + _GAP * (len(columns) - 1)


def _least_important(columns: Sequence[Column]) -> Column | None:
    last = max(columns, key=lambda column: column.priority, default=None)
    if last is not None and last.priority:
        return last
    return None


class TableRows:
    """The rows of a table, with a cursor and marks that stay with their keys while rows come, go and change places."""

    def __init__(self) -> None:
        self._rows: Sequence[Row] = ()
        self._at: dict[str, int] = {}
        self._marks: set[str] = set()
        self.cursor = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def get_row(self, index: int) -> Row | None:
        """Return the row at a place, if there is one."""
        if 0 <= index < len(self._rows):
            return self._rows[index]
        return None

    @property
    def current_row(self) -> Row | None:
        """The row with the cursor; None only while there are no rows."""
        return self.get_row(self.cursor)

    @property
    def marked_keys(self) -> list[str]:
        """The keys of the marked rows, in their order."""
        return sorted(self._marks, key=self._at.__getitem__)

    def replace_rows(self, rows: Iterable[Row]) -> None:
        """Replace the rows. Marks of gone rows go too; if the cursor's row is gone, the cursor stays at its place."""
        key = self.current_row.key if self.current_row else ""
        self._rows = tuple(rows)
        self._at = {row.key: index for index, row in enumerate(self._rows)}
        self._marks &= self._at.keys()
        self.move_cursor(self._at.get(key, self.cursor))

    def move_cursor(self, index: int) -> None:
        """Put the cursor at a place, or as near as there is a row."""
        self.cursor = max(0, min(index, len(self._rows) - 1))

    def find_row_index(self, key: str) -> int | None:
        """Return the place of a row."""
        return self._at.get(key)

    def is_marked(self, row: Row) -> bool:
        """Return True if a row is marked."""
        return row.key in self._marks

    def toggle_marks(self, keys: Iterable[str]) -> None:
        """Mark those of the rows that are not marked, unmark those that are."""
        self._marks ^= set(keys) & self._at.keys()
