"""One line of spans, each with a style by name: painted only when it has changed, and it knows what was clicked."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.events import Click
from textual.message import Message

from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.styled_text import get_raw_text

Spans = Sequence[tuple[str, str]]
"""Texts with the names of their styles."""


class StyledLine(Drawing):
    """A line at most as wide as its widget; what is beyond is cut off. Its texts are never taken for markup."""

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

    @property
    def spans(self) -> Spans:
        """The spans that are drawn."""
        return self._rows[0] if self._rows else ()

    @property
    def words(self) -> str:
        """The text without styles."""
        return get_raw_text(list(self.spans))

    def show_spans(self, spans: Spans) -> None:
        """Show these spans from now on; whatever their texts hold, they are drawn as one harmless line."""
        self.show_rows([list(spans)])

    def on_click(self, event: Click) -> None:
        """Find the span under the pointer."""
        end = 0
        for at, (text, _) in enumerate(self.spans):
            end += cell_len(text)
            if event.x < end:
                self.post_message(self.SpanClicked(self, at))
                return
