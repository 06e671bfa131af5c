"""A text of any length with a cursor, drawn line by line where it is looked at, followed at its end, and folded."""

from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip

from orchestrator.tui.widgets.scroll_area import ScrollArea
from orchestrator.tui.widgets.strip_cache import StripCache
from orchestrator.tui.widgets.styled_text import clean_line, cover_strip, get_style_lookup
from orchestrator.tui.widgets.text_search import LineList, LineSource

_ASIDE = 8


class ScrollableText(ScrollArea):
    """A text. Whoever owns the source calls `update_length` and `invalidate_lines`.

    While `follow` is on, a cursor on the last line stays on it as the text grows; going up pauses that and going back
    to the end takes it up again. The place to the side never changes by itself. Folded, the text scrolls by whole
    lines.
    """

    DEFAULT_CSS = """
    ScrollableText:focus > .paged--cursor { background: $primary; color: $background; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"paged--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "scroll_sideways(1)", "To the right", show=False, id="lines.right"),
        Binding("left", "scroll_sideways(-1)", "To the left", show=False, id="lines.left"),
        Binding("F", "follow", "Follow", show=False, id="lines.follow"),
        Binding("W", "wrap", "Fold", show=False, id="lines.wrap"),
    ]

    def __init__(
        self, source: LineSource | None = None, *, follow: bool = False, wrap: bool = False, empty: str = ""
    ) -> None:
        """`empty` is the text for no lines, of one or more lines itself."""
        super().__init__()
        self.source: LineSource = LineList() if source is None else source
        self.cursor = 0
        """The line with the cursor; 0 while there are none."""
        self._follow, self._wrap, self._empty = follow, wrap, empty
        self._strips = StripCache(self.source, get_style_lookup(None))
        self._count, self._widest = 0, 0

    # --- what is shown -----------------------------------------------------------------------------------------------

    def show_text(self, source: LineSource, *, at_end: bool | None = None) -> None:
        """Show another text, from its beginning or its end; if `at_end` is None, from the end if it is followed."""
        self.source = source
        self.cursor, self._count, self._widest = 0, 0, 0
        self.redraw_text()
        self.scroll_at_once(x=0, y=0)
        if self._follow if at_end is None else at_end:
            self.action_edge(True)

    def update_length(self) -> None:
        """Extend the drawing to lines that were added; those before are unchanged."""
        is_following, before, count = self.is_following, self._count, len(self.source)
        if count < before:
            self.invalidate_lines(0)
        elif count > before:
            self._fit()
            if is_following:
                self.move_to(count - 1)
            elif before < self.scroll_offset.y + self.page_size.height:
                self.refresh()

    def invalidate_lines(self, first: int) -> None:
        """Draw lines from `first` on anew; there may be more of them or fewer."""
        is_following = self.is_following
        self._strips.invalidate_from(first)
        self.cursor = self._clamp(self.cursor)
        self._fit()
        if is_following:
            self.move_to(len(self.source) - 1)
        self.refresh()

    def move_to(self, index: int) -> None:
        """Put the cursor on a line, or on the nearest there is, and bring that in sight."""
        self.cursor = self._clamp(index)
        self._fit()
        self._scroll_to_cursor()
        self.refresh()

    @property
    def follow(self) -> bool:
        """True if the end of the text is followed, unless that is paused."""
        return self._follow

    @follow.setter
    def follow(self, wanted: bool) -> None:
        self._follow = wanted
        if wanted:
            self.action_edge(True)

    @property
    def is_following(self) -> bool:
        """True if more text would scroll the view."""
        return self._follow and self.cursor >= self._count - 1 and self.scroll_offset.y >= self.max_scroll_y

    @property
    def wrap(self) -> bool:
        """True if long lines are folded."""
        return self._wrap

    @wrap.setter
    def wrap(self, wanted: bool) -> None:
        self._wrap = wanted
        self.scroll_at_once(x=0)
        self.redraw_text()
        self._scroll_to_cursor()

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Go some lines down, at most to the last one; up if negative."""
        self.move_to(self.cursor + by)

    def action_scroll_sideways(self, by: int) -> None:
        """Scroll to the side."""
        self.scroll_at_once(x=self.scroll_offset.x + by * _ASIDE)

    def action_follow(self) -> None:
        """Follow the end of the text, or stop that."""
        self.follow = not self.is_following

    def action_wrap(self) -> None:
        """Fold long lines, or stop that."""
        self.wrap = not self._wrap

    # --- drawing -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Draw the text."""
        self.redraw_text()
        if self._follow:
            self.action_edge(True)

    def on_resize(self, event: Resize) -> None:
        """Fold anew; if the end was followed, it still is."""
        self.redraw_text()
        if self._follow and self.cursor >= self._count - 1:
            self.action_edge(True)

    def notify_style_update(self) -> None:
        """Draw all anew: the theme may be another one."""
        super().notify_style_update()
        self.redraw_text()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure lines that come in sight: they may be wider than all before."""
        super().watch_scroll_y(old_value, new_value)
        self._fit()

    def render_content_line(self, y: int) -> Strip:
        """Return one line of the screen without the style of the whole."""
        width, left = self.page_size.width, self.scroll_offset.x
        rows = self._lay_out_page()
        if y >= len(rows):
            return self._render_empty_line(y).adjust_cell_length(width)
        index, part = rows[y]
        strip = self._strips.get_strips(index)[part].crop_extend(left, left + width, None)
        component = self.get_line_component(index)
        if not component:
            return strip
        style = self.get_component_rich_style(component, partial=True)
        if style.bgcolor is None:
            return strip
        return cover_strip(strip.adjust_cell_length(width), style)

    def _render_empty_line(self, y: int) -> Strip:
        """Return a line below the text; without any text, a line of what stands for it."""
        lines = self._empty.splitlines()
        if len(self.source) or y >= len(lines):
            return Strip([])
        return Strip([Segment(clean_line(lines[y]), get_style_lookup(self.app)("dim" * (y > 0)))])

    def get_line_component(self, index: int) -> str:
        """Return the component class that a line is drawn with; empty for none."""
        if index == self.cursor:
            return "paged--cursor"
        return ""

    def redraw_text(self) -> None:
        """Draw everything anew: another text, width, or theme."""
        if self.is_mounted:
            width = self.page_size.width if self._wrap else None
            self._strips = StripCache(self.source, get_style_lookup(self.app), width)
            self._fit()
            self.refresh()

    def find_line_at(self, y: int) -> int | None:
        """Return the line of the text on a line of the screen."""
        rows = self._lay_out_page()
        if 0 <= y < len(rows):
            return rows[y][0]
        return None

    def _lay_out_page(self) -> list[tuple[int, int]]:
        return self._strips.lay_out_screen(self.scroll_offset.y, self.page_size.height)

    def _fit(self) -> None:
        """Set the area to scroll over: to the last lines that fill a screen, and to the widest line seen."""
        height, count = self.page_size.height, len(self.source)
        self._count = count
        top = self._strips.find_top_line(count - 1, height) if count and height else 0
        if not self._wrap:
            visible = {index for index, _ in self._lay_out_page()}
            self._widest = max([self._widest, *(self._strips.get_strips(index)[0].cell_length for index in visible)])
        size = Size(self.page_size.width if self._wrap else max(self._widest, 1), top + height)
        if size != self.virtual_size:
            self.virtual_size = size

    def _clamp(self, index: int) -> int:
        return max(0, min(index, len(self.source) - 1))

    def _scroll_to_cursor(self) -> None:
        if len(self.source) and self.page_size.height:
            lowest = self._strips.find_top_line(self.cursor, self.page_size.height)
            top = min(max(self.scroll_offset.y, lowest), self.cursor)
            if top != self.scroll_offset.y:
                self.scroll_at_once(y=top)
