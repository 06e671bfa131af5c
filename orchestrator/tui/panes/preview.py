"""The preview of the chosen row: the last words of a conversation, else lines about what the row stands for."""

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult

from orchestrator.domain.ids import SessionId
from orchestrator.tui.panes.text import TextPane
from orchestrator.tui.panes.transcript import TranscriptPane
from orchestrator.tui.rows.subject_details import Styled
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Span

_EVENTS = 200
"""Events of a conversation that are looked at for its preview."""


class PreviewPanel(Panel):
    """A panel below or beside a table, about the row with the cursor."""

    DEFAULT_CSS = """
    PreviewPanel > TranscriptPane { display: none; }
    PreviewPanel.-conversation > TranscriptPane { display: block; }
    PreviewPanel.-conversation > TextPane { display: none; }
    """

    def __init__(self, *, is_ascii: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._is_ascii = is_ascii
        self._subject = ""

    def compose(self) -> ComposeResult:
        """Build both kinds of texts, of which one is shown."""
        yield TextPane()
        yield TranscriptPane(last=_EVENTS, is_ascii=self._is_ascii)

    def show_conversation(self, title: Sequence[Span], view_model: ViewModel, session: SessionId) -> None:
        """Show the last words and tool calls of a conversation."""
        self.show_title(title)
        self.set_class(True, "-conversation")
        self.query_one(TranscriptPane).show_session(view_model, session)

    def show_lines(self, title: Sequence[Span], subject: str, lines: Iterable[Styled]) -> None:
        """Show lines about a subject; another subject is shown from its first line."""
        self.show_title(title)
        self.set_class(False, "-conversation")
        pane = self.query_one(TextPane)
        pane.show_lines(lines)
        if subject != self._subject:
            self._subject = subject
            pane.move_to_first_line()
