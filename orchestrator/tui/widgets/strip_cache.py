"""Lines of a text as strips for a screen, of which only those in sight are made and some are kept."""

from itertools import accumulate

from rich.cells import chop_cells
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from orchestrator.tui.widgets.styled_text import Span, StyleLookup, build_spans, build_strip, get_raw_text, split_spans
from orchestrator.tui.widgets.text_search import LineSource, TextSearch

MAX_LINE_CELLS = 2_000
"""The cells of one line that are drawn; the rest is only counted."""
_KEPT = 1_000


class StripCache:
    """A text as strips. With `width` None a line is one strip of its own width; else it is folded to that width."""

    def __init__(self, source: LineSource, style_of: StyleLookup, width: int | None = None) -> None:
        self.source = source
        self._style_of = style_of
        self._width = width
        self._search: TextSearch | None = None
        self._match = Style.null()
        self._kept: LRUCache[int, list[Strip]] = LRUCache(_KEPT)
        self._screens: LRUCache[tuple[int, int, int], list[tuple[int, int]]] = LRUCache(2)

    def highlight_search(self, search: TextSearch | None, style: Style) -> None:
        """Draw the words of a search in this style."""
        self._search, self._match = search, style
        self.invalidate_from(0)

    def invalidate_from(self, first: int) -> None:
        """Forget the strips of lines from `first` on."""
        for index in [index for index in self._kept.keys() if index >= first]:  # noqa: SIM118
            self._kept.discard(index)
        self._screens.clear()

    def get_strips(self, index: int) -> list[Strip]:
        """Return the strips of one line, at least one."""
        found = self._kept.get(index)
        if found is None:
            found = self._kept[index] = self._made(index)
        return found

    def lay_out_screen(self, top: int, height: int) -> list[tuple[int, int]]:
        """Return, for each line of a screen from the line `top` on, a line and which strip of it."""
        key = (top, height, len(self.source))
        found = self._screens.get(key)
        if found is None:
            found = self._screens[key] = self._on_screen(max(top, 0), height)
        return found

    def _on_screen(self, top: int, height: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for index in range(top, len(self.source)):
            found += [(index, part) for part in range(len(self.get_strips(index)))]
            if len(found) >= height:
                break
        return found[:height]

    def find_top_line(self, index: int, height: int) -> int:
        """Return the first line of a screen that shows all of the line `index`; that line itself if it is too long."""
        left = height - len(self.get_strips(index))
        while index > 0 and (left := left - len(self.get_strips(index - 1))) >= 0:
            index -= 1
        return index

    def _made(self, index: int) -> list[Strip]:
        spans = build_spans(self.source.get_line(index), MAX_LINE_CELLS)
        rows = self._folded(spans)
        if self._search and (marks := self._search.find_matches(get_raw_text(spans))):
            return self._marked(rows, marks)
        return [build_strip(row, self._style_of) for row in rows]

    def _folded(self, spans: list[Span]) -> list[list[Span]]:
        if self._width is None:
            return [spans]
        rows = chop_cells(get_raw_text(spans), max(self._width, 2))
        return split_spans(spans, list(accumulate(map(len, rows[:-1]))))

    def _marked(self, rows: list[list[Span]], marks: list[tuple[int, int]]) -> list[Strip]:
        found, start = [], 0
        for row in rows:
            length = len(get_raw_text(row))
            cuts: list[int] = []
            for first, end in marks:
                if first < start + length and end > start:
                    cuts += (max(first - start, 0), min(end - start, length))
            strips = []
            for number, part in enumerate(split_spans(row, cuts)):
                strip = build_strip(part, self._style_of)
                strips.append(strip.apply_style(self._match) if number % 2 else strip)
            found.append(Strip.join(strips))
            start += length
        return found
