"""A long text with what people do to it: searching, selecting with keys or the mouse, copying without frames."""

from typing import ClassVar, NamedTuple

from anyio.lowlevel import checkpoint
from textual.binding import Binding, BindingType
from textual.events import Click, MouseDown, MouseMove, MouseUp
from textual.message import Message

from orchestrator.tui.terminal.clipboard import copy_text
from orchestrator.tui.widgets.scrollable_text import ScrollableText
from orchestrator.tui.widgets.styled_text import get_clean_text
from orchestrator.tui.widgets.text_search import LazyLines, LineList, LineSource, TextSearch

__all__ = ["LazyLines", "LineList", "LineSource", "SearchPosition", "TextPager"]

_SLICE_S = 0.008


class SearchPosition(NamedTuple):
    """The place of a search: the line of a hit, its rank, and the number of hits; no line if there is no hit."""

    text: str
    line: int | None
    rank: int
    total: int


class TextPager(ScrollableText):
    """A long text in which one can search, select and copy; see `ScrollableText` for how it is kept up to date."""

    DEFAULT_CSS = """
    TextPager > .lines--selected { background: $secondary; color: $background; }
    TextPager > .lines--match { background: $warning 50%; text-style: underline; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--selected", "lines--match"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+down", "extend(1)", "Select down", show=False, id="lines.select-down"),
        Binding("shift+up", "extend(-1)", "Select up", show=False, id="lines.select-up"),
        Binding("V", "select", "Select lines", show=False, id="lines.select"),
        Binding("escape", "unselect", "Select nothing", show=False, id="lines.unselect"),
        Binding("y", "copy", "Copy", show=False, id="lines.copy"),
        Binding("n", "next(False)", "Next hit", show=False, id="lines.next"),
        Binding("N", "next(True)", "Hit before", show=False, id="lines.previous"),
        Binding("enter", "open", "Open", show=False, id="lines.open"),
    ]

    class LineOpened(Message):
        """More of the line with the cursor is wanted: return, or a double click."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class SearchFinished(Message):
        """A search has looked at the whole text."""

        def __init__(self, at: SearchPosition) -> None:
            super().__init__()
            self.at = at

    _search: TextSearch | None = None
    search_position: SearchPosition | None = None
    """The place of the search; None without a search, or before all was searched."""
    _anchor: int | None = None
    """The line at which selecting began."""
    _is_dragging = False

    def show_text(self, source: LineSource, *, at_end: bool | None = None) -> None:
        """Show another text; nothing is selected or searched for in it."""
        self._anchor = self._search = self.search_position = None
        super().show_text(source, at_end=at_end)

    def invalidate_lines(self, first: int) -> None:
        """Draw lines from `first` on anew; there may be more of them or fewer."""
        if self._search:
            self._search.invalidate_from(first)
        if self._anchor is not None:
            self._anchor = self._clamp(self._anchor)
        super().invalidate_lines(first)

    @property
    def is_following(self) -> bool:
        """True if more text would scroll the view; not while something is selected."""
        return self._anchor is None and super().is_following

    # --- searching ---------------------------------------------------------------------------------------------------

    def find_text(self, text: str, *, backwards: bool = False) -> None:
        """Move to the next line with these words, from the cursor's on, in slices that hold nothing up."""
        self.search_position, self._search = None, TextSearch(text) if text else None
        self.redraw_text()
        self._go_to_hit(self.cursor + (1 if backwards else -1), backwards)

    def action_next(self, backwards: bool) -> None:
        """Go to the next hit."""
        self._go_to_hit(self.cursor, backwards)

    def redraw_text(self) -> None:
        """Draw everything anew, with the hits of the search."""
        super().redraw_text()
        if self.is_mounted:
            self._strips.highlight_search(self._search, self.get_component_rich_style("lines--match", partial=True))

    def _go_to_hit(self, start: int, backwards: bool) -> None:
        if self._search:
            self.run_worker(self._seek(self._search, start, backwards), group="find", exclusive=True)

    async def _seek(self, search: TextSearch, start: int, backwards: bool) -> None:
        """Move to the next hit as soon as it is known; all hits are counted at the end."""
        hit: int | None = None
        is_whole = False
        while not is_whole and search is self._search:
            is_whole = search.search_more(self.source, _SLICE_S)
            if hit is None:
                find = search.find_previous_hit if backwards else search.find_next_hit
                hit = find(start, is_whole)
                if hit is not None:
                    self.move_to(hit)
            await checkpoint()
        if search is self._search:
            rank = 0 if hit is None else search.get_rank(hit)
            self.search_position = SearchPosition(search.text, hit, rank, len(search.hits))
            self.post_message(self.SearchFinished(self.search_position))

    # --- selecting ---------------------------------------------------------------------------------------------------

    @property
    def selected_lines(self) -> range:
        """The lines that are selected; that with the cursor if none are."""
        anchor = self.cursor if self._anchor is None else self._anchor
        first, last = sorted((self.cursor, anchor))
        return range(first, min(last + 1, len(self.source)))

    @property
    def selected_text(self) -> str:
        """The selected lines for the clipboard, without anything that a terminal would act on."""
        return "\n".join(get_clean_text(self.source.get_line(index)) for index in self.selected_lines)

    def get_line_component(self, index: int) -> str:
        """Return the component class that a line is drawn with."""
        if self._anchor is not None and index in self.selected_lines and index != self.cursor:
            return "lines--selected"
        return super().get_line_component(index)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys that mean nothing at present to the widgets around."""
        if action == "next":
            return self._search is not None
        if action == "unselect":
            return self._anchor is not None
        return True

    def action_extend(self, by: int) -> None:
        """Select lines from the cursor on."""
        if self._anchor is None:
            self._anchor = self.cursor
        self.action_move(by)

    def action_select(self) -> None:
        """Start to select lines, or stop."""
        self._anchor = self.cursor if self._anchor is None else None
        self.refresh()

    def action_unselect(self) -> None:
        """Clear the selection."""
        self._anchor = None
        self.refresh()

    def action_copy(self) -> None:
        """Copy the selected lines."""
        if len(self.source):
            self.notify(copy_text(self.app, self.selected_text), markup=False)
            self.action_unselect()

    def action_open(self) -> None:
        """Post the line with the cursor as opened."""
        if len(self.source):
            self.post_message(self.LineOpened(self.cursor))

    # --- the mouse ---------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: MouseDown) -> None:
        """Move the cursor to a line; with shift, select up to it; moving on selects."""
        index = self.find_line_at(self.get_page_offset(event).y)
        if index is not None:
            self._anchor = self.selected_lines.start if event.shift else None
            self._is_dragging = True
            self.capture_mouse()
            self.move_to(index)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Select the lines that the mouse is drawn over."""
        if self._is_dragging:
            index = self.find_line_at(min(max(self.get_page_offset(event).y, 0), self.page_size.height - 1))
            if index is not None and index != self.cursor:
                self.action_extend(index - self.cursor)

    def on_mouse_up(self, event: MouseUp) -> None:
        """End the selection by mouse."""
        self._is_dragging = False
        self.release_mouse()

    def on_click(self, event: Click) -> None:
        """Open a line by a second click."""
        if event.chain == 2 and self.find_line_at(self.get_page_offset(event).y) is not None:
            self.action_open()
