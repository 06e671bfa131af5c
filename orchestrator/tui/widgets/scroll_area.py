"""The base of the dashboard's tables and texts: a scrolled area whose width stays when its scrollbar comes."""

from textual.events import MouseEvent
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView


class ScrollArea(ScrollView, inherit_bindings=False):  # those of a ScrollView would be told by `?`, and do nothing here
    """Something to scroll over with a bar of one cell at its right, for which there is always room."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ScrollArea {
        height: 1fr; scrollbar-gutter: stable; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
    }
    """

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
