"""A table of up to some thousand rows that is brought up to date several times a second and draws only what changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from orchestrator.tui.widgets.scroll_area import ScrollArea
from orchestrator.tui.widgets.styled_text import Cell, clean_line, cover_strip, fit_cell, get_style_lookup
from orchestrator.tui.widgets.table_rows import (
    CellContext,
    Column,
    ColumnExtent,
    Row,
    TableRows,
    build_row,
    lay_out_columns,
)

__all__ = ["CellContext", "Column", "Row", "Table", "build_row"]

_MARGIN = 2
"""The cells of `>` for the cursor and `*` for a mark: both are told without colours."""
_LineState = tuple[Row | None, bool, bool]


class Table(ScrollArea):
    """Rows with a cursor and marks; both stay with their row's key when rows are sorted anew, come or go.

    `show_rows` is cheap for any number of rows: only what is in sight is compared, only cells that differ are drawn.
    Styles are names that the app knows, see `styled_text.get_style_lookup`.
    """

    HEADER_LINES = 1
    DEFAULT_CSS = """
    Table { overflow-x: hidden; }
    Table > .table--header { text-style: bold; color: $text-muted; }
    Table > .table--cursor { background: $surface-lighten-2; text-style: bold; }
    Table:focus > .table--cursor { background: $primary; color: $background; }
    Table > .table--mark { text-style: underline; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--header", "table--cursor", "table--mark"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark", show=False, id="table.mark"),
        Binding("enter", "open", "Open", show=False, id="table.open"),
    ]

    class RowHighlighted(Message):
        """The cursor is on another row now, or on none."""

        def __init__(self, key: str | None) -> None:
            super().__init__()
            self.key = key

    class RowOpened(RowHighlighted):
        """A row was opened: return, or a double click."""

    class HeaderClicked(Message):
        """A column's title was clicked."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self, columns: Sequence[Column], *, empty: str = "", id: str | None = None) -> None:  # noqa: A002
        """`empty` is the text for no rows, of one or more lines."""
        super().__init__(id=id)
        self._columns, self._empty = tuple(columns), empty
        self._extents: list[ColumnExtent] = []
        self._rows = TableRows()
        self._highlighted: str | None = None
        self._height_before = self._top_before = 0
        self.is_cursor_placed = False
        """True once somebody has moved the cursor."""

    # --- what is shown -----------------------------------------------------------------------------------------------

    def show_rows(self, rows: Iterable[Row]) -> None:
        """Show these rows from now on."""
        before, was_in_sight = self._capture_lines(), self._is_in_sight
        self._rows.replace_rows(rows)
        self._resize()
        if was_in_sight:
            self._scroll_to_cursor()
        self._draw(before)

    def show_columns(self, columns: Sequence[Column]) -> None:
        """Show these columns from now on."""
        if tuple(columns) != self._columns:
            self._columns = tuple(columns)
            self._lay_out()

    def set_empty_text(self, words: str) -> None:
        """Set the text for a table without rows."""
        if words != self._empty:
            self._empty = words
            self.refresh()

    @property
    def rows(self) -> Sequence[Row]:
        """The rows, as they were put."""
        return tuple(self._rows)

    @property
    def columns(self) -> Sequence[Column]:
        """The columns that fit into the present width."""
        return [place.column for place in self._extents]

    @property
    def cursor(self) -> str | None:
        """The key of the row with the cursor; None while there are no rows."""
        row = self._rows.current_row
        return row.key if row else None

    @property
    def marked_keys(self) -> Sequence[str]:
        """The keys of the marked rows, in their order."""
        return self._rows.marked_keys

    @property
    def selected_keys(self) -> Sequence[str]:
        """The subjects of an action: the marked rows, else the one with the cursor."""
        if not self.marked_keys and self.cursor is not None:
            return [self.cursor]
        return self.marked_keys

    def move_to(self, key: str) -> bool:
        """Put the cursor on a row; return False if there is none of this key."""
        if (index := self._rows.find_row_index(key)) is None:
            return False
        self._move(index)
        return True

    def toggle_marks(self, keys: Iterable[str]) -> None:
        """Mark rows, or take away the marks of those that have them."""
        before = self._capture_lines()
        self._rows.toggle_marks(keys)
        self._draw(before)

    # --- keys and mouse ----------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Go some rows down, at most to the last one; up if negative."""
        self.is_cursor_placed = True
        self._move(self._rows.cursor + by)

    def action_mark(self) -> None:
        """Mark the row with the cursor, or take its mark away, and go to the next one."""
        if self.cursor is not None:
            self.toggle_marks([self.cursor])
            self.action_move(1)

    def action_open(self) -> None:
        """Ask for the row with the cursor to be shown whole."""
        if self.cursor is not None:
            self.post_message(self.RowOpened(self.cursor))

    def on_click(self, event: Click) -> None:
        """Choose a row; a second click opens it, and one with ctrl marks it."""
        x, y = self.get_page_offset(event)
        if y == 0:
            over = next((place for place in self._extents if place.x <= x < place.x + place.width), None)
            if over is not None:
                self.post_message(self.HeaderClicked(over.column.key))
            return
        row = self._rows.get_row(self._get_row_index(y)) if y > 0 else None
        if row is None:
            return
        self.is_cursor_placed = True
        self.move_to(row.key)
        if event.ctrl:
            self.toggle_marks([row.key])
        elif event.chain == 2:
            self.action_open()

    # --- drawing -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Lay the columns out."""
        self._lay_out()

    def on_resize(self, event: Resize) -> None:
        """Lay the columns out anew; the cursor stays in sight."""
        was_in_sight = 0 <= self._rows.cursor - self._top_before < max(self._height_before, 1)
        self._height_before = self.page_size.height
        self._lay_out()
        if was_in_sight:
            self._scroll_to_cursor()
        self._top_before = self.scroll_offset.y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Keep the row at the top for the next change of size: a larger one moves it up before it is told."""
        super().watch_scroll_y(old_value, new_value)
        if not old_value > new_value == self.max_scroll_y:
            self._top_before = round(new_value)

    def render_content_line(self, y: int) -> Strip:
        """Return one line of the screen: the titles, or a row."""
        width = self.page_size.width
        if y == 0:
            return self._render_header().adjust_cell_length(width)
        row, has_cursor, is_marked = self._capture_line(self._get_row_index(y))
        if row is None:
            return self._render_empty_line(y).adjust_cell_length(width)
        strip = self._render_row(row, has_cursor, is_marked).adjust_cell_length(width)
        if is_marked:
            strip = strip.apply_style(self.get_component_rich_style("table--mark", partial=True))
        if has_cursor:
            strip = cover_strip(strip, self.get_component_rich_style("table--cursor", partial=True))
        return strip

    def _render_empty_line(self, y: int) -> Strip:
        """Return a line below the rows; of a table without rows, a line of its text."""
        lines = self._empty.splitlines()
        if self._rows or not 1 <= y <= len(lines):
            return Strip([])
        style = get_style_lookup(self.app)("dim" * (y > 1))
        return Strip([Segment(f"  {clean_line(lines[y - 1])}", style)])

    def _render_header(self) -> Strip:
        strip = self._fill_strip({column.key: column.title for column in self._columns}, "  ")
        return strip.apply_style(self.get_component_rich_style("table--header", partial=True))

    def _render_row(self, row: Row, has_cursor: bool, is_marked: bool) -> Strip:
        gutter = " >"[has_cursor] + " *"[is_marked]
        strip = self._fill_strip(row.cells, gutter)
        if row.style:
            return strip.apply_style(get_style_lookup(self.app)(row.style))
        return strip

    def _fill_strip(self, cells: Mapping[str, Cell], gutter: str) -> Strip:
        style_of = get_style_lookup(self.app)
        segments = [Segment(gutter)]
        x = len(gutter)
        for place in self._extents:
            cell = cells.get(place.column.key, "")
            if place.x > x:
                segments.append(Segment(" " * (place.x - x)))
            segments += fit_cell(cell, place.width, style_of, to_the_right=place.column.to_the_right)
            x = place.x + place.width
        return Strip(segments)

    def _lay_out(self) -> None:
        self._extents = lay_out_columns(self._columns, self.page_size.width, _MARGIN)
        self._resize()
        self.refresh()

    def _resize(self) -> None:
        size = Size(max(self.page_size.width, 1), len(self._rows) + 1)
        if size != self.virtual_size:
            self.virtual_size = size
            self.scroll_at_once(y=min(self.scroll_offset.y, self.max_scroll_y))

    def _move(self, index: int) -> None:
        before = self._capture_lines()
        self._rows.move_cursor(index)
        self._scroll_to_cursor()
        self._draw(before)

    def _get_row_index(self, y: int) -> int:
        return self.scroll_offset.y + y - 1

    def _capture_line(self, index: int) -> _LineState:
        row = self._rows.get_row(index)
        return row, row is not None and index == self._rows.cursor, row is not None and self._rows.is_marked(row)

    def _capture_lines(self) -> tuple[int, list[_LineState]]:
        """Return what stands on each line of the screen, and the row at the top."""
        top, height = self.scroll_offset.y, self.page_size.height
        return top, list(map(self._capture_line, range(top, top + height - 1)))

    def _draw(self, before: tuple[int, list[_LineState]]) -> None:
        """Draw what differs from how things looked; scrolling draws all by itself."""
        if self.cursor != self._highlighted:
            self._highlighted = self.cursor
            self.post_message(self.RowHighlighted(self.cursor))
        top, looks = self._capture_lines()
        if top == before[0]:
            regions: list[Region] = []
            for y, (old, new) in enumerate(zip(before[1], looks, strict=True), start=1):
                regions += self._list_changes(y, old, new)
            if regions:
                self.refresh(*regions)

    def _list_changes(self, y: int, old: _LineState, new: _LineState) -> Iterable[Region]:
        if old == new:
            return []
        if old[0] is None or new[0] is None or old[1:] != new[1:] or old[0].style != new[0].style:
            return [Region(0, y, self.page_size.width, 1)]
        was, now = old[0].cells, new[0].cells
        return [
            Region(place.x, y, place.width, 1)
            for place in self._extents
            if was.get(place.column.key, "") != now.get(place.column.key, "")
        ]

    @property
    def _is_in_sight(self) -> bool:
        return 0 <= self._rows.cursor - self.scroll_offset.y < max(self.page_size.height - 1, 1)

    def _scroll_to_cursor(self) -> None:
        height = max(self.page_size.height - 1, 1)
        top = min(max(self.scroll_offset.y, self._rows.cursor - height + 1), self._rows.cursor)
        if top != self.scroll_offset.y:
            self.scroll_at_once(y=top)
