"""Reports over what is in front: why a unit may land or not, what became of a shard. `esc` goes back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from anyio import to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from orchestrator.domain.ids import parse_unit_id
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.report.migration.file_details import build_shard_details
from orchestrator.report.migration.file_text import render_shard_details
from orchestrator.report.task.receipt import CheckLog
from orchestrator.tui.rows.judgement_lines import list_judged_receipts, render_judge_lines
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.text_pager import LineList, TextPager


class ReportEvidence:
    """The parts of the journal and its blobs that a report rests on: read in a thread before its lines are made."""

    def __init__(self) -> None:
        self.check_log = CheckLog()
        self.blobs: dict[str, bytes] = {}

    def read_evidence(self, directory: RunDirectory, blobs: Sequence[str]) -> None:
        """Read the evidence; what cannot be read is left out."""
        store = BlobStore(directory.blobs)
        for sha in blobs:
            try:
                self.blobs[sha] = store.read_blob(sha)
            except JournalProblem:
                continue
        try:
            with closing(EventReader.open_reader(directory.journal)) as reader:
                self.check_log.record_events(reader.read_kinds(CheckLog.KINDS))
        except JournalProblem:
            return

    def get_blob(self, sha: str) -> bytes:
        """Return one of the blobs; empty if it could not be read."""
        return self.blobs.get(sha, b"")


@dataclass(frozen=True)
class ReportContent:
    """A report: its title, the blobs that it rests on, and how its lines are made once they are there."""

    title: str
    directory: RunDirectory
    blobs: Sequence[str]
    build_lines: Callable[[ReportEvidence], Iterator[str]]


def build_unit_report(view_model: ViewModel, unit: str) -> ReportContent | None:
    """Build the reasons why a unit may land or not; None if the run does not know it any more."""
    state = view_model.state
    attempt = parse_unit_id(unit)
    if attempt is None or attempt.task not in state.tasks:
        return None
    task, number = state.tasks[attempt.task], attempt.number
    receipts = [*state.get_baseline_receipts().values(), *list_judged_receipts(state, task, number)]
    blobs = []
    for one in receipts:
        for sha in (one.tests, one.output.sha):
            if sha:
                blobs.append(sha)
    return ReportContent(
        f"judge's report on {unit}",
        view_model.directory,
        list(dict.fromkeys(blobs)),
        lambda evidence: render_judge_lines(state, task, number, evidence.check_log, evidence.get_blob),
    )


def build_shard_report(view_model: ViewModel, name: str) -> ReportContent | None:
    """Build what became of a shard's files; None if the run does not know it any more."""
    state = view_model.state
    if name not in state.migration.shards:
        return None
    return ReportContent(
        f"shard {name}",
        view_model.directory,
        (),
        lambda _evidence: render_shard_details(build_shard_details(state, state.migration.shards[name])),
    )


class ReportScreen(ModalScreen[None]):
    """One report. It is made once, from what was known when it was opened."""

    DEFAULT_CSS = """
    ReportScreen { align: center middle; }
    ReportScreen > Vertical { width: 92%; height: 90%; border: round $primary; background: $background; padding: 0 1; }
    ReportScreen.-narrow > Vertical { width: 100%; height: 100%; border: none; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False, id="report.back")]

    def __init__(self, content: ReportContent) -> None:
        super().__init__()
        self._content = content
        self._evidence = ReportEvidence()

    def compose(self) -> ComposeResult:
        """Build a title above a long text."""
        with Vertical():
            yield Drawing(id="report-title")
            yield TextPager(wrap=True, empty="reading the evidence", id="report-lines")

    def on_mount(self) -> None:
        """Read the evidence."""
        title = self._content.title
        self.query_one("#report-title", Drawing).show_drawing(
            lambda _width, _height: [[(title, "title"), ("   esc back  W fold  V select  y copy", "dim")]]
        )
        self.query_one(TextPager).focus()
        self.run_worker(self._make(), exit_on_error=False)

    async def _make(self) -> None:
        await to_thread.run_sync(
            self._evidence.read_evidence, self._content.directory, self._content.blobs, abandon_on_cancel=True
        )
        lines = []
        for line in self._content.build_lines(self._evidence):
            for part in line.splitlines() or [""]:
                lines.append(part)
        self.query_one(TextPager).show_text(LineList(lines), at_end=False)
