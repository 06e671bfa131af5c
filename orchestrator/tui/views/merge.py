"""The queue: what is at the gates, waits to land, is being tried, landed or was ejected. In a migration, its shards."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from textual import on
from textual.app import ComposeResult

from orchestrator.domain.ids import get_task_key
from orchestrator.report.rows.queue_gates import GATE_NAMES, GateMark, GateName, GateStatus
from orchestrator.report.rows.queue_rows import QUEUE_KEYS, QueueRow, build_queue_rows, render_queue_line
from orchestrator.tui.rows.empty_screens import describe_empty_queue
from orchestrator.tui.rows.shard_rows import SHARD_KEYS, ShardRow, build_shard_rows, render_shards_line
from orchestrator.tui.screens.report import ReportScreen, build_shard_report, build_unit_report
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views import base_view
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import CellContext, Column, Table, build_row

_WIDE = 110
_GATE_WIDTHS = {"rules": 5, "tests": 7, "review": 7, "person": 6, "union": 5}
_MARKS: Mapping[GateMark, tuple[str, str, str]] = {
    "none": ("·", "-", "dim"),
    "now": ("⚙", "T", "state-test"),
    "ok": ("✓", "+", "state-done"),
    "bad": ("✗", "x", "state-fail"),
    "ask": ("?", "?", "state-ask"),
}
_WORDS: Mapping[GateMark, str] = {"now": "now", "ask": "asks", "bad": "no"}


def _render_task(row: QueueRow, _context: CellContext) -> Cell:
    task: list[Span] = [(row.task, "")]
    if row.title != get_task_key(row.task):
        task.append((f"  {row.title}", "dim"))
    return task


def _render_gate(name: GateName, row: QueueRow, context: CellContext) -> Cell:
    status = row.gates.get(name, GateStatus())
    *glyphs, style = _MARKS[status.mark]
    words = status.words or _WORDS.get(status.mark, "")
    return [(f"{glyphs[context.is_ascii]} {words}".rstrip(), style)]


_UNITS = (
    Column("place", "POS", 3, priority=4, to_the_right=True, cell=lambda row, _: base_view.format_nonzero(row.place)),
    base_view.STATE_COLUMN,
    Column("task", "TASK", 12, grows=True, cell=_render_task),
    Column(
        "try", "ATT", 3, priority=3, to_the_right=True, cell=lambda row, _: base_view.format_nonzero(row.attempt, "a")
    ),
    *(Column(step, step.upper(), _GATE_WIDTHS[step], 2, cell=partial(_render_gate, step)) for step in GATE_NAMES),
    base_view.AGE_COLUMN,
)
_SHARDS = (
    base_view.STATE_COLUMN,
    Column("shard", "SHARD", 14, grows=True, cell=lambda row, _: row.name),
    Column("files", "LANDED", 9, to_the_right=True, cell=lambda row, _: f"{row.landed}/{row.files}"),
    Column(
        "failed", "FAILED", 6, priority=1, to_the_right=True, cell=lambda row, _: base_view.render_failures(row.failed)
    ),
    Column("wave", "WAVE", 4, priority=4, to_the_right=True, cell=lambda row, _: base_view.format_nonzero(row.wave)),
    Column("owner", "OWNER", 14, priority=3, cell=lambda row, _: row.owner),
    Column("commit", "COMMIT", 10, priority=2, cell=lambda row, _: (row.commit, "dim")),
    base_view.AGE_COLUMN,
)
_WHY = Column("why", "WHY", 14, grows=True, cell=lambda row, _: row.note)


class MergeView(base_view.ThrottledView):
    """The merge queue of a goal, or the shards of a migration."""

    TITLE = "Merge"
    KEYS = (("enter", "judge's report"), ("space", "mark"))
    FIELDS = tuple(dict.fromkeys((*QUEUE_KEYS, *SHARD_KEYS)))

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._is_migration = False
        self._titles: dict[str, str] = {}
        self._notes: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Build a line that sums up, the table, and a line for what has no column where it is narrow."""
        yield Drawing(id="merge-line")
        with Panel():
            yield Table(_UNITS)
        yield Drawing(id="merge-why")

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything anew."""
        self._is_migration = view_model.state.run.mode == "migration"
        self._titles, self._notes = {}, {}
        words, columns = render_queue_line(view_model.state), [*_UNITS, _WHY]
        if self._is_migration:
            words, columns = render_shards_line(view_model.state), [*_SHARDS, _WHY]
        rows = []
        for key, row in self._list_rows(view_model):
            self._notes[key] = row.note
            rows.append(build_row(key, row, columns, self.cell_context))
        self.query_one("#merge-line", Drawing).show_rows([(words, "title")])
        self.table.show_columns(_fit_columns(columns, self.size.width))
        self.table.set_empty_text(self.get_empty_text(describe_empty_queue(view_model.state)))
        self.table.show_rows(rows)
        self.query_one(Panel).show_title([("Shards" if self._is_migration else "Merge queue", "title")])
        self.show_reason()

    def _list_rows(self, view_model: ViewModel) -> Iterator[tuple[str, QueueRow | ShardRow]]:
        if self._is_migration:
            for shard in self.filter_rows(build_shard_rows(view_model.state, view_model.recent)):
                self._titles[shard.name] = f"{shard.files} files"
                yield shard.name, shard
        else:
            for unit in self.filter_rows(build_queue_rows(view_model.state, view_model.recent)):
                self._titles[unit.unit] = unit.title
                yield unit.unit, unit

    @on(Table.RowHighlighted)
    def show_reason(self) -> None:
        """Show why the unit or shard with the cursor stands where it does."""
        why = self._notes.get(self.table.cursor or "", "")
        line = self.query_one("#merge-why", Drawing)
        line.display = bool(why) and self.size.width < _WIDE
        line.show_rows([why])

    def open_row(self, key: str) -> None:
        """Show the findings on a unit or a shard, and why it may land or not."""
        build_report = build_shard_report if self._is_migration else build_unit_report
        if self.view_model is not None and (report := build_report(self.view_model, key)) is not None:
            self.app.push_screen(ReportScreen(report))

    def find_subject(self, key: str) -> base_view.Subject:
        """Return the shard or unit of a row."""
        return base_view.Subject("shard" if self._is_migration else "unit", key, self._titles.get(key, ""))


def _fit_columns(columns: Sequence[Column], width: int) -> Sequence[Column]:
    """Return the columns without reasons; where there is room, reasons get what the others leave."""
    *others, why = columns
    if width < _WIDE:
        return others
    fixed = []
    for column in others:
        fixed.append(Column(column.key, column.title, 22 if column.grows else column.width, column.priority))
    return [*fixed, why]
