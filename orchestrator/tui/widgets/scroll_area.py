"""The base of the dashboard's tables and texts: a scrolled area whose width stays when its scrollbar comes."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import MouseEvent
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

_FAR = 1_000_000_000
"""More lines than anything has."""


class ScrollArea(ScrollView, inherit_bindings=False):  # those of a ScrollView would be told by `?`, and do nothing here
    """Lines to scroll over with a bar of one cell at its right, for which there is always room, and with a cursor.

    `HEADER_LINES` at the top of the screen are not scrolled.
    """

    HEADER_LINES: ClassVar[int] = 0

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ScrollArea {
        height: 1fr; scrollbar-gutter: stable; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("home,g", "edge(False)", "First", show=False),
        Binding("end,G", "edge(True)", "Last", show=False),
    ]

    def action_move(self, by: int) -> None:
        """Go some lines down, at most to the last one; up if negative."""
        raise NotImplementedError

    def action_page(self, by: int) -> None:
        """Go some screens down; up if negative."""
        self.action_move(by * max(self.page_size.height - self.HEADER_LINES - 1, 1))

    def action_edge(self, is_last: bool) -> None:
        """Go to the last line or the first one."""
        self.action_move(_FAR if is_last else -_FAR)

    def render_content_line(self, y: int) -> Strip:
        """Return one line of the screen without the style of the whole."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        # what has no style cannot be made grey for NO_COLOR
        return self.render_content_line(y).apply_style(self.rich_style)

    def notify_style_update(self) -> None:
        """Draw all anew: the theme may be another one."""
        super().notify_style_update()
        self.refresh()

    @property
    def page_size(self) -> Size:
        """The visible part, in cells."""
        width, height = self.container_size
        return Size(max(width - self.scrollbar_size_vertical, 0), max(height - self.scrollbar_size_horizontal, 0))

    def get_page_offset(self, event: MouseEvent) -> Offset:
        """Return the place of the mouse on the page."""
        return Offset(event.x - self.styles.gutter.left, event.y - self.styles.gutter.top)

    def scroll_at_once(self, *, x: float | None = None, y: float | None = None) -> None:
        """Scroll without an animation, also before the bar is there."""
        self.scroll_to(x=x, y=y, animate=False, force=True)
