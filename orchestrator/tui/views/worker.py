"""One thing whole: a worker's conversation, its change, its tests, what was asked of it; or a file of a migration."""

from collections.abc import Sequence
from typing import ClassVar, Literal, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.fleet import find_fleet_row
from orchestrator.report.rows.row_filter import RowFilter
from orchestrator.tui.commands.command_bar import CommandBar
from orchestrator.tui.keymap import get_key_hints
from orchestrator.tui.panes.diff import DiffPane, FilesPane
from orchestrator.tui.panes.text import TextPane, show_checks, show_record
from orchestrator.tui.panes.transcript import TranscriptPane
from orchestrator.tui.rows import subject_details
from orchestrator.tui.rows.diff_rows import NO_COMMENTS, CommentTexts
from orchestrator.tui.run_feed.diff_reader import list_diff_endpoints
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import DashboardView, Subject
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.styled_text import Span
from orchestrator.tui.widgets.text_search import LineSource

_TABS = {"t": "Transcript", "d": "Diff", "e": "Tests", "i": "Info", "f": "Files"}
"""The panes' names by their keys."""
_NARROW = 80
"""Columns below which only the pane in front has its name."""


class WorkerView(DashboardView):
    """The detail view of a row of the fleet: five panes, of which only the one in front is brought up to date."""

    TITLE = "Worker"
    DEFAULT_CSS = "WorkerView ContentSwitcher { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"pane('{key}')", title, show=False, id=f"worker.{title.lower()}") for key, title in _TABS.items()
    ]

    def __init__(self, subject: Subject, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._subject = subject
        self._front = "f" if subject.kind == "file" else "t"
        self._view_model: ViewModel | None = None
        self._whole = subject_details.ResolvedSubject()
        self._row: AgentRow | None = None
        self._turns = -1

    def compose(self) -> ComposeResult:
        """Build the headline, the tabs and the panes."""
        yield StyledLine(id="worker-head")
        yield StyledLine(id="worker-tabs")
        with Panel(), ContentSwitcher(initial=f"pane-{self._front}"):
            yield TranscriptPane(is_ascii=self.is_ascii, id="pane-t")
            yield DiffPane(id="pane-d")
            yield TextPane(id="pane-e")
            yield TextPane(id="pane-i")
            yield (TextPane if self._subject.kind == "file" else FilesPane)(id="pane-f")

    @property
    def KEYS(self) -> Sequence[tuple[str, str]]:  # type: ignore[override]
        """The keys of the pane in front, and those of the panes."""
        keys: list[tuple[str, str]] = []
        if self._row is not None:
            keys += [hint for hint in get_key_hints(self._row.activity) if hint[0] not in _TABS]
        if self.is_mounted:
            keys += getattr(self.pane, "KEYS", ())
        return (*keys, ("t d e i f", "panes"), ("esc", "back"))

    @property
    def pane(self) -> Widget:
        """The pane in front."""
        return self.query_one(f"#pane-{self._front}")

    def show_view_model(self, view_model: ViewModel) -> None:
        """Update the headline and the pane in front."""
        self._view_model = view_model
        if view_model.state.started is None or not self.children:  # it may be coming or going
            return
        kind = cast(Literal["session", "task", "unit", "file"], self._subject.kind)
        self._whole = subject_details.resolve_subject(view_model.state, kind, self._subject.id)
        whole, state, now = self._whole, view_model.state, view_model.now
        events, is_at_work = view_model.last_session_events, view_model.is_at_work
        self._row = find_fleet_row(state, events, now, whole.session, whole.task, whole.path, is_at_work=is_at_work)
        head = subject_details.render_subject_headline(view_model.state, self._whole, self._row, self.is_ascii)
        self.query_one("#worker-head", StyledLine).show_spans(list(head))
        self._show_pane(view_model)
        self._show_tabs()

    def _show_pane(self, view_model: ViewModel) -> None:
        whole, state = self._whole, view_model.state
        match self._front:
            case "t":
                self.query_one("#pane-t", TranscriptPane).show_session(view_model, whole.session)
            case "d":
                self._show_change(view_model)
            case "e":
                show_checks(self.query_one("#pane-e", TextPane), view_model, whole)
            case "i":
                self.query_one("#pane-i", TextPane).show_lines(subject_details.render_subject_info(state, whole))
            case _ if whole.path is not None and whole.path in state.migration.files:
                show_record(self.query_one("#pane-f", TextPane), view_model, whole.path)
            case _:
                self._show_change(view_model)

    def _show_change(self, view_model: ViewModel) -> None:
        """Show the change, and while it grows what there is of it after each turn."""
        pane = self.query_one(DiffPane)
        ends = list_diff_endpoints(view_model.state, self._whole)
        session = self._whole.find_session(view_model.state)
        turns = session.turns if session else 0
        pane.show_diff(view_model.directory, ends)
        pane.show_comments(self.line_comments)
        if ends and not ends[0].new and ends[0].blob is None and self._turns not in {-1, turns}:
            pane.reload_diff()
        self._turns = turns

    @property
    def line_comments(self) -> CommentTexts:
        """The comments on lines of the change that were not sent yet; the dashboard keeps them."""
        keeper = getattr(self.app, "command_bar", None)
        if isinstance(keeper, CommandBar):
            return keeper.get_comments(self._subject)
        return NO_COMMENTS

    def _show_tabs(self) -> None:
        titles = _TABS.copy()
        if self._row is not None and self._row.changed_lines:
            added, removed = self._row.changed_lines
            titles["d"] = f"Diff +{added}/-{removed}"
        if self._subject.kind == "file":
            titles["f"] = "Record"
        spans: list[Span] = []
        for key, title in titles.items():
            is_short = key != self._front and self.size.width < _NARROW
            spans.append((f" {key} " if is_short else f" {key} {title} ", "chosen" if key == self._front else "dim"))
        status = getattr(self.pane, "status_text", "")
        if status:
            spans.append((f"   {status}", "accent"))
        self.query_one(Panel).show_title([(titles[self._front], "title")])
        self.query_one("#worker-tabs", StyledLine).show_spans(spans)

    def action_pane(self, key: str) -> None:
        """Bring a pane to the front and give it the focus."""
        self._front = key
        self.query_one(ContentSwitcher).current = f"pane-{key}"
        if self._view_model is not None:
            self.show_view_model(self._view_model)
        inner = (one for one in self.pane.query("*") if one.focusable)
        self.screen.set_focus(next(inner, None))

    def on_styled_line_span_clicked(self, event: StyledLine.SpanClicked) -> None:
        """Bring a clicked pane to the front."""
        event.stop()
        if event.line.id == "worker-tabs" and event.span < len(_TABS):
            self.action_pane(list(_TABS)[event.span])

    def on_diff_pane_diff_loaded(self, event: DiffPane.DiffLoaded) -> None:
        """List the files of the change."""
        if self._whole.path is None:
            self.query_one(FilesPane).show_files(self.query_one(DiffPane).files)
        self._show_tabs()

    def on_transcript_pane_status_changed(self, event: TranscriptPane.StatusChanged) -> None:
        """Show the status of the pane beside the tabs."""
        self._show_tabs()

    def on_files_pane_file_chosen(self, event: FilesPane.FileChosen) -> None:
        """Show the change of one file."""
        self.action_pane("d")
        self.query_one(DiffPane).move_to_file(event.path)

    def apply_filter(self, wanted: RowFilter) -> None:
        """Search for words in the pane in front."""
        pane = self.pane
        if isinstance(pane, TranscriptPane):
            pane.apply_filter(wanted)
        elif isinstance(pane, DiffPane):
            pane.pager.find_text(wanted.text)

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The thing itself."""
        return [self._subject]

    def find_stream_lines(self) -> LineSource | None:
        """Return the whole conversation while it is in front, else the lines of the pane."""
        pane = self.pane
        if isinstance(pane, TranscriptPane) and (lines := pane.get_all_lines()) is not None:
            return lines
        return super().find_stream_lines()
