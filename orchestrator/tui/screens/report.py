"""Reports over what is in front: why a unit may land or not, what became of a shard. `esc` goes back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from anyio import to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from orchestrator.domain.ids import parse_unit_id
from orchestrator.domain.judging.check import Receipt
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.report.migration.file_details import build_shard_details, render_shard_details
from orchestrator.report.task.receipt import CheckLog, ReadBlob
from orchestrator.tui.rows.judgement_lines import list_judged_receipts, render_judge_lines
from orchestrator.tui.run_feed.conversation_reader import read_kinds_into
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.text_pager import LineList, TextPager


@dataclass(frozen=True)
class ReportContent:
    """A report: its title, the receipts that it rests on, and how its lines are made once their blobs are read."""

    title: str
    directory: RunDirectory
    receipts: Sequence[Receipt]
    build_lines: Callable[[CheckLog, ReadBlob], Iterator[str]]

    def read_evidence(self) -> tuple[CheckLog, Mapping[str, bytes]]:
        """Read what the journal says of checks, and the blobs; what cannot be read is left out."""
        log, blobs, store = CheckLog(), {}, BlobStore(self.directory.blobs)
        for receipt in self.receipts:
            for sha in filter(None, (receipt.tests, receipt.output.sha)):
                with suppress(JournalProblem):
                    blobs[sha] = store.read_blob(sha)
        with suppress(JournalProblem):
            read_kinds_into(log, self.directory)
        return log, blobs


def build_unit_report(view_model: ViewModel, unit: str) -> ReportContent | None:
    """Build the reasons why a unit may land or not; None if the run does not know it any more."""
    state = view_model.state
    attempt = parse_unit_id(unit)
    if attempt is None or attempt.task not in state.tasks:
        return None
    task, number = state.tasks[attempt.task], attempt.number
    receipts = [*state.get_baseline_receipts().values(), *list_judged_receipts(state, task, number)]
    return ReportContent(
        f"judge's report on {unit}", view_model.directory, receipts, partial(render_judge_lines, state, task, number)
    )


def build_shard_report(view_model: ViewModel, name: str) -> ReportContent | None:
    """Build what became of a shard's files; None if the run does not know it any more."""
    state = view_model.state
    if name not in state.migration.shards:
        return None

    def build_lines(_log: CheckLog, _read_blob: ReadBlob) -> Iterator[str]:
        return render_shard_details(build_shard_details(state, state.migration.shards[name]))

    return ReportContent(f"shard {name}", view_model.directory, (), build_lines)


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

    def compose(self) -> ComposeResult:
        """Build a title above a long text."""
        with Vertical():
            yield Drawing()
            yield TextPager(wrap=True, empty="reading the evidence")

    def on_mount(self) -> None:
        """Read the evidence."""
        title = [(self._content.title, "title"), ("   esc back  W fold  V select  y copy", "dim")]
        self.query_one(Drawing).show_rows([title])
        self.query_one(TextPager).focus()
        self.run_worker(self._make(), exit_on_error=False)

    async def _make(self) -> None:
        log, blobs = await to_thread.run_sync(self._content.read_evidence, abandon_on_cancel=True)
        lines: list[str] = []
        for line in self._content.build_lines(log, lambda sha: blobs.get(sha, b"")):
            lines += line.splitlines() or [""]
        self.query_one(TextPager).show_text(LineList(lines), at_end=False)
