"""Drawings in characters: charts, sparklines, a few lines above a table. Only rows that changed are drawn anew."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.events import Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from orchestrator.tui.widgets.styled_text import Cell, Span, build_spans, build_strip, get_style_lookup

DrawRows: TypeAlias = Callable[[int, int], Sequence[Cell]]
"""Makes the rows for a width and a height in cells; what is too long or too much is cut."""


class Drawing(Widget):
    """Rows that are made for the room there is: again whenever that changes or something else is put."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Drawing { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._draw: DrawRows = lambda _width, _height: ()
        self._rows: list[list[Span]] = []

    def show_drawing(self, draw: DrawRows) -> None:
        """Show the rows that this function makes from now on."""
        self._draw = draw
        self._make()

    def show_rows(self, rows: Sequence[Cell]) -> None:
        """Show these rows from now on, whatever the size."""
        self.show_drawing(lambda _width, _height: rows)

    def on_resize(self, _event: Resize) -> None:
        """Draw for another size."""
        self._make()

    def notify_style_update(self) -> None:
        """Draw all anew: the theme may be another one."""
        super().notify_style_update()
        self.refresh()

    def _make(self) -> None:
        width, height = self.size
        if not width or not height:
            return
        before = self._rows
        self._rows = list(map(build_spans, self._draw(width, height)[:height]))
        regions = []
        for y in range(height):
            if before[y : y + 1] != self._rows[y : y + 1]:
                regions.append(Region(0, y, width, 1))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """Return one row, exactly as wide as there is room."""
        spans = next(iter(self._rows[y : y + 1]), [])
        drawn = build_strip(spans, get_style_lookup(self.app)).adjust_cell_length(self.size.width, self.rich_style)
        return drawn.apply_style(self.rich_style)  # what has no style cannot be made grey for NO_COLOR
