"""The base of every tab of the dashboard: a widget that shows view models, with a filter and a selection."""

from collections.abc import Sequence
from typing import ClassVar

from textual.containers import Vertical
from textual.message import Message

from orchestrator.report.rows.row_filter import RowFilter
from orchestrator.tui.subject import Subject, SubjectKind
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.table import Table
from orchestrator.tui.widgets.text_pager import LineSource, TextPager

__all__ = ["DashboardView", "Subject", "SubjectKind"]


class DashboardView(Vertical):
    """One tab. `TITLE` is its name; `KEYS` are its own keys with what they do, for the last line and for `?`.

    One that shows a single thing whole has that thing's subject as its first argument.
    """

    TITLE: ClassVar[str] = ""
    KEYS: ClassVar[Sequence[tuple[str, str]]] = ()
    FIELDS: ClassVar[Sequence[str]] = ()
    """The fields that a filter can ask for here; `apply_filter` is given no other."""

    class OpenRequested(Message):
        """Request to open the detail view of a thing."""

        def __init__(self, subject: Subject) -> None:
            super().__init__()
            self.subject = subject

    def show_view_model(self, view_model: ViewModel) -> None:
        """Show a view model: called at most four times a second, and only while the tab is in front."""
        raise NotImplementedError

    def apply_filter(self, wanted: RowFilter) -> None:
        """Show only what fits a filter from now on."""

    @property
    def table(self) -> Table:
        """Its table, the one that is seen if it has several."""
        return self.query_one(Table)

    @property
    def is_ascii(self) -> bool:
        """True if only ASCII can be shown."""
        return bool(getattr(getattr(self.app, "settings", None), "is_ascii", False))

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The subjects of actions: the marked rows, else the one with the cursor; empty if there are none."""
        return ()

    def select_subject(self, subject: Subject) -> None:
        """Put the cursor on a thing."""

    @property
    def status_text(self) -> str:
        """A few words for the line of tabs, as `2 of 16`; empty if there is nothing to say."""
        return ""

    def find_stream_lines(self) -> LineSource | None:
        """Return the lines that stream mode prints, of the text with the focus or else of a visible one."""
        visible = [lines for lines in self.query(TextPager) if lines.is_on_screen]
        return max(visible, key=lambda lines: lines.has_focus).source if visible else None
