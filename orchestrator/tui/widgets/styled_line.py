"""One line of spans, each with a style by name: painted only when it has changed, and it knows what was clicked."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from orchestrator.tui.theme import get_theme_style
from orchestrator.tui.widgets.styled_text import clean_line, get_raw_text

Spans = Sequence[tuple[str, str]]
"""Texts with the names of their styles."""


class StyledLine(Widget):
    """A line at most as wide as its widget; what is beyond is cut off. Its texts are never taken for markup."""

    DEFAULT_CSS = "StyledLine { height: 1; width: 1fr; }"

    class SpanClicked(Message):
        """The span with this number was clicked."""

        def __init__(self, line: "StyledLine", span: int) -> None:
            super().__init__()
            self.line, self.span = line, span

        @property
        def key(self) -> str:
            """The key that is named there, by itself or before the words that were clicked; empty if there is none."""
            near = self.line.spans[max(self.span - 1, 0) : self.span + 1]
            return next((text for text, style in reversed(near) if style == "key"), "")

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.spans: Spans = ()

    @property
    def words(self) -> str:
        """The text without styles."""
        return get_raw_text(list(self.spans))

    def show_spans(self, spans: Spans) -> None:
        """Show these spans from now on; whatever their texts hold, they are drawn as one harmless line."""
        if (new := tuple((clean_line(text), style) for text, style in spans)) != self.spans:
            self.spans = new
            self.refresh()

    def render(self) -> Text:
        """Return the line for Textual."""
        line = Text(no_wrap=True, overflow="crop", end="")
        for text, name in self.spans:
            line.append(text, get_theme_style(name, self.app.theme))
        return line

    def on_click(self, event: Click) -> None:
        """Find the span under the pointer."""
        end = 0
        for at, (text, _) in enumerate(self.spans):
            end += cell_len(text)
            if event.x < end:
                self.post_message(self.SpanClicked(self, at))
                return
