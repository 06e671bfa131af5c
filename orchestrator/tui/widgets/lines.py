"""A long text with what people do to it: searching, selecting with keys or the mouse, copying without frames."""

from typing import ClassVar, NamedTuple

from anyio.lowlevel import checkpoint
from textual.binding import Binding, BindingType
from textual.events import Click, MouseDown, MouseMove, MouseUp
from textual.message import Message

from orchestrator.tui.widgets.cells import text_of
from orchestrator.tui.widgets.copying import copy
from orchestrator.tui.widgets.finding import LineSource, Listed, Search
from orchestrator.tui.widgets.paged import Paged

__all__ = ["FoundAt", "LineSource", "Lines", "Listed"]

_SLICE_S = 0.008


class FoundAt(NamedTuple):
    """Where a search is: the line, the how manieth hit that is, of how many; no line if there is no hit."""

    text: str
    line: int | None
    rank: int
    total: int


class Lines(Paged):
    """A long text in which one can search, select and copy; see `Paged` for how it is kept up to date."""

    DEFAULT_CSS = """
    Lines > .lines--selected { background: $primary-muted; }
    Lines > .lines--match { background: $warning 50%; text-style: underline; }
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

    class Opened(Message):
        """Somebody wants more of the line with the cursor: return, or a double click."""

        def __init__(self, lines: "Lines", index: int) -> None:
            super().__init__()
            self.lines, self.index = lines, index

        @property
        def control(self) -> "Lines":
            """The text, for `@on(Lines.Opened, "#id")`."""
            return self.lines

    class Found(Message):
        """A search has looked at the whole text."""

        def __init__(self, lines: "Lines", at: FoundAt) -> None:
            super().__init__()
            self.lines, self.at = lines, at

        @property
        def control(self) -> "Lines":
            """The text, for `@on(Lines.Found, "#id")`."""
            return self.lines

    _search: Search | None = None
    _found: FoundAt | None = None
    _anchor: int | None = None
    """The line at which selecting began."""
    _is_dragging = False

    def show(self, source: LineSource, *, at_end: bool | None = None) -> None:
        """Show another text; nothing is selected or searched for in it."""
        self._anchor = self._search = self._found = None
        super().show(source, at_end=at_end)

    def altered(self, first: int) -> None:
        """Lines from `first` on are others now, and there may be more of them or fewer."""
        if self._search:
            self._search.forget(first)
        if self._anchor is not None:
            self._anchor = self._within(self._anchor)
        super().altered(first)

    @property
    def is_following(self) -> bool:
        """Whether more text would move what is seen; not while something is selected."""
        return self._anchor is None and super().is_following

    # --- searching ---------------------------------------------------------------------------------------------------

    @property
    def found(self) -> FoundAt | None:
        """Where the search is; None if nothing is searched for or not all was looked at yet."""
        return self._found

    def find(self, text: str, *, backwards: bool = False) -> None:
        """Go to the next line with these words, from the cursor's on; `n` and `N` go on. Nothing is held up by it."""
        self._found, self._search = None, Search(text) if text else None
        self.redraw()
        self._go_to_hit(self._cursor + (1 if backwards else -1), backwards)

    def action_next(self, backwards: bool) -> None:
        """Go to the next hit."""
        self._go_to_hit(self._cursor, backwards)

    def redraw(self) -> None:
        """Begin anew with drawing, and show where the words of the search stand."""
        super().redraw()
        if self.is_mounted:
            self._drawn.highlight(self._search, self.get_component_rich_style("lines--match", partial=True))

    def _go_to_hit(self, start: int, backwards: bool) -> None:
        if self._search:
            self.run_worker(self._seek(self._search, start, backwards), group="find", exclusive=True)

    async def _seek(self, search: Search, start: int, backwards: bool) -> None:
        """Jumps as soon as it is known where to; how many hits there are is known when all was looked at."""
        hit: int | None = None
        is_whole = False
        while not is_whole and search is self._search:
            is_whole = search.go_on(self._source, _SLICE_S)
            if hit is None:
                hit = (search.preceding if backwards else search.following)(start, is_whole)
                if hit is not None:
                    self.move_to(hit)
            await checkpoint()
        if search is self._search:
            self._found = FoundAt(search.text, hit, 0 if hit is None else search.rank(hit), len(search.hits))
            self.post_message(self.Found(self, self._found))

    # --- selecting ---------------------------------------------------------------------------------------------------

    @property
    def selected(self) -> range:
        """The lines that are selected; that with the cursor if none are."""
        ends = (self._cursor, self._cursor if self._anchor is None else self._anchor)
        return range(min(ends), min(max(ends) + 1, len(self._source)))

    @property
    def selected_text(self) -> str:
        """What would be copied: whole lines, without anything that a terminal would act on."""
        return "\n".join(text_of(self._source.line(index)) for index in self.selected)

    def component_of(self, index: int) -> str:
        """How a line is drawn."""
        if self._anchor is not None and index in self.selected:
            return "lines--selected"
        return super().component_of(index)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that mean nothing at present are left to whoever is around."""
        if action == "next":
            return self._search is not None
        return self._anchor is not None if action == "unselect" else True

    def action_extend(self, by: int) -> None:
        """Select lines from the cursor on."""
        self._anchor = self._cursor if self._anchor is None else self._anchor
        self.action_move(by)

    def action_select(self) -> None:
        """Begin to select lines, or stop that."""
        self._anchor = self._cursor if self._anchor is None else None
        self.refresh()

    def action_unselect(self) -> None:
        """Select nothing."""
        self._anchor = None
        self.refresh()

    def action_copy(self) -> None:
        """Copy what is selected."""
        if len(self._source):
            self.notify(copy(self.app, self.selected_text), markup=False)
            self.action_unselect()

    def action_open(self) -> None:
        """Ask for more of the line with the cursor."""
        if len(self._source):
            self.post_message(self.Opened(self, self._cursor))

    # --- the mouse ---------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: MouseDown) -> None:
        """Choose a line; with shift, select up to it; moving on selects."""
        index = self.line_at(self.place(event).y)
        if index is not None:
            self._anchor = self.selected.start if event.shift else None
            self._is_dragging = True
            self.capture_mouse()
            self.move_to(index)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Select the lines that the mouse is drawn over."""
        if self._is_dragging:
            index = self.line_at(min(max(self.place(event).y, 0), self.page.height - 1))
            if index is not None and index != self._cursor:
                self.action_extend(index - self._cursor)

    def on_mouse_up(self, event: MouseUp) -> None:
        """Selecting by mouse is over."""
        self._is_dragging = False
        self.release_mouse()

    def on_click(self, event: Click) -> None:
        """A second click opens."""
        if event.chain == 2 and self.line_at(self.place(event).y) is not None:
            self.action_open()
