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

from orchestrator.domain.ids import UnitId
from orchestrator.domain.state import unit_task
from orchestrator.errors import JournalProblem
from orchestrator.journal.blobs import Blobs
from orchestrator.journal.reader import Reader
from orchestrator.journal.runs import RunDirectory
from orchestrator.report.judge_report import judge_lines, judged_receipts
from orchestrator.report.migration_file import shard_lines, shard_object
from orchestrator.report.receipt import CheckLog
from orchestrator.tui.moment import Moment
from orchestrator.tui.widgets.charts import Drawing
from orchestrator.tui.widgets.lines import Lines, Listed


class Evidence:
    """What of the journal and its blobs a report rests on: read in a thread before its lines are made."""

    def __init__(self) -> None:
        self.log = CheckLog()
        self.blobs: dict[str, bytes] = {}

    def read(self, directory: RunDirectory, blobs: Sequence[str]) -> None:
        """Read it; what cannot be read stays away."""
        store = Blobs(directory.blobs)
        for sha in blobs:
            try:
                self.blobs[sha] = store.get(sha)
            except JournalProblem:
                continue
        try:
            with closing(Reader.open_reader(directory.journal)) as reader:
                self.log.watch(reader.of_kinds(CheckLog.KINDS))
        except JournalProblem:
            return

    def blob(self, sha: str) -> bytes:
        """One of the blobs; empty if it could not be read."""
        return self.blobs.get(sha, b"")


@dataclass(frozen=True)
class Told:
    """A report: its title, the blobs that it rests on, and how its lines are made once they are there."""

    title: str
    directory: RunDirectory
    blobs: Sequence[str]
    lines: Callable[[Evidence], Iterator[str]]


def of_unit(moment: Moment, unit: str) -> Told | None:
    """Why a unit of the queue may land or not; None if the run does not know it any more."""
    state = moment.state
    task = state.tasks.get(unit_task(UnitId(unit)))
    if task is None:
        return None
    number = int(unit.rpartition("@")[2])
    receipts = [*state.baseline_receipts().values(), *judged_receipts(state, task, number)]
    blobs = [sha for one in receipts for sha in (one.tests, one.output.sha) if sha]
    return Told(
        f"judge's report on {unit}",
        moment.directory,
        list(dict.fromkeys(blobs)),
        lambda evidence: judge_lines(state, task, number, evidence.log, evidence.blob),
    )


def of_shard(moment: Moment, name: str) -> Told | None:
    """What became of a shard's files; None if the run does not know it any more."""
    state = moment.state
    if name not in state.shards:
        return None
    return Told(
        f"shard {name}",
        moment.directory,
        (),
        lambda _evidence: shard_lines(shard_object(state, state.shards[name])),
    )


class Report(ModalScreen[None]):
    """One report. It is made once, from what was known when it was opened."""

    DEFAULT_CSS = """
    Report { align: center middle; }
    Report > Vertical { width: 92%; height: 90%; border: round $primary; background: $background; padding: 0 1; }
    Report.-narrow > Vertical { width: 100%; height: 100%; border: none; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False, id="report.back")]

    def __init__(self, told: Told) -> None:
        super().__init__()
        self._told = told
        self._evidence = Evidence()

    def compose(self) -> ComposeResult:
        """A title above a long text."""
        with Vertical():
            yield Drawing(id="report-title")
            yield Lines(wrap=True, empty="reading the evidence", id="report-lines")

    def on_mount(self) -> None:
        """Read the evidence."""
        title = self._told.title
        self.query_one("#report-title", Drawing).put(
            lambda _width, _height: [[(title, "title"), ("   esc back  W fold  V select  y copy", "dim")]]
        )
        self.query_one(Lines).focus()
        self.run_worker(self._make(), exit_on_error=False)

    async def _make(self) -> None:
        await to_thread.run_sync(self._evidence.read, self._told.directory, self._told.blobs, abandon_on_cancel=True)
        lines = [part for line in self._told.lines(self._evidence) for part in line.splitlines() or [""]]
        self.query_one(Lines).show(Listed(lines), at_end=False)
