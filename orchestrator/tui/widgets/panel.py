"""A panel: widgets in a frame that has a title, and hints or counts at its right. That of the focus is in colour."""

from collections.abc import Sequence

from textual.color import Color
from textual.containers import Vertical
from textual.content import Content
from textual.style import Style

from orchestrator.tui.widgets.styled_text import Span, clean_line, get_style_lookup


class Panel(Vertical):
    """A frame around what is in it. On screens of few lines the dashboard takes all frames away.

    One of the class `-optional` has a frame only in views of the class `-roomy`.
    """

    DEFAULT_CSS = """
    Panel {
        height: 1fr; border: round $border-blurred; border-title-color: $foreground; border-subtitle-color: $text-muted;
        border-title-style: none; border-subtitle-style: none;
    }
    Panel:focus-within { border: round $primary; }
    Panel.-optional { height: auto; border: none; }
    """

    _title: Sequence[Span] = ()
    _hint: Sequence[Span] = ()

    def show_title(self, title: Sequence[Span]) -> None:
        """Show a title at the left of the upper edge."""
        if title != self._title:
            self._title = title
            self._write_titles()

    def show_hint(self, hint: Sequence[Span]) -> None:
        """Show counts or keys at the right of the lower edge."""
        if hint != self._hint:
            self._hint = hint
            self._write_titles()

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Show keys with what they do at the right of the lower edge."""
        hint: list[Span] = []
        for key, words in keys:
            gap = "  " * bool(hint)
            hint += [(f"{gap}{key}", "key"), (f" {words}", "dim")]
        self.show_hint(hint)

    def notify_style_update(self) -> None:
        """Write the titles anew: the theme may be another one."""
        super().notify_style_update()
        if self._title or self._hint:
            self._write_titles()

    def _write_titles(self) -> None:
        self.border_title = self._build_content(self._title)
        self.border_subtitle = self._build_content(self._hint)

    def _build_content(self, spans: Sequence[Span]) -> Content:
        """Return spans as what Textual takes for no markup, without anything that a terminal would act on."""
        style_of = get_style_lookup(self.app)
        parts: list[Content] = []
        for text, name in spans:
            drawn = style_of(name)
            colour = Color.from_rich_color(drawn.color) if drawn.color else None
            parts.append(Content.styled(clean_line(text), Style(foreground=colour, bold=drawn.bold)))
        return Content("").join(parts)
