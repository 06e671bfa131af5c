"""The queue: what is at the gates, waits to land, is being tried, landed or was ejected. In a migration, its shards."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from textual import on
from textual.app import ComposeResult

from orchestrator.domain.ids import get_task_key
from orchestrator.report.rows.queue_gates import GATE_NAMES, GateMark, GateStatus
from orchestrator.report.rows.queue_rows import QUEUE_KEYS, QueueRow, build_queue_rows, render_queue_line
from orchestrator.tui.rows.shard_rows import SHARD_KEYS, ShardRow, build_shard_rows, render_shards_line
from orchestrator.tui.screens.report import ReportScreen, build_shard_report, build_unit_report
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, SubjectKind
from orchestrator.tui.views.cells import format_age, format_nonzero, render_failures
from orchestrator.tui.views.throttled_view import ThrottledView
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import Column, Row, Table

_WIDE = 110
_GATE_WIDTHS = {"rules": 5, "tests": 9, "review": 8, "person": 7, "union": 5}
_UNITS = (
    Column("place", "POS", 3, priority=4, to_the_right=True),
    Column("state", "STATE", 7),
    Column("task", "TASK", 14, grows=True),
    Column("try", "ATT", 3, priority=3, to_the_right=True),
    *(Column(step, step.upper(), _GATE_WIDTHS[step], priority=2) for step in GATE_NAMES),
    Column("age", "AGE", 6, priority=5, to_the_right=True),
)
_SHARDS = (
    Column("state", "STATE", 7),
    Column("shard", "SHARD", 14, grows=True),
    Column("files", "LANDED", 9, to_the_right=True),
    Column("failed", "FAILED", 6, priority=1, to_the_right=True),
    Column("wave", "WAVE", 4, priority=4, to_the_right=True),
    Column("owner", "OWNER", 14, priority=3),
    Column("commit", "COMMIT", 10, priority=2),
    Column("age", "AGE", 6, priority=5, to_the_right=True),
)
_WHY = Column("why", "WHY", 12, grows=True)
_MARKS: Mapping[GateMark, tuple[str, str, str]] = {
    "none": ("·", "-", "dim"),
    "now": ("⚙", "T", "state-test"),
    "ok": ("✓", "+", "state-done"),
    "bad": ("✗", "x", "state-fail"),
    "ask": ("?", "?", "state-ask"),
}
_WORDS: Mapping[GateMark, str] = {"now": "now", "ask": "asks", "bad": "no"}


class MergeView(ThrottledView):
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
        yield Table(_UNITS, empty="nothing is at the gates")
        yield Drawing(id="merge-why")

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything anew."""
        self._is_migration = view_model.state.run.mode == "migration"
        self._titles, self._notes = {}, {}
        if self._is_migration:
            words, rows = render_shards_line(view_model.state), self._list_shards(view_model)
        else:
            words, rows = render_queue_line(view_model.state), self._list_units(view_model)
        self.query_one("#merge-line", Drawing).show_rows([(words, "title")])
        self.table.show_columns(_fit_columns(_SHARDS if self._is_migration else _UNITS, self.size.width))
        self.query_one("#merge-why", Drawing).display = self.size.width < _WIDE
        self.table.set_empty_text(self.get_empty_text("nothing is at the gates"))
        self.table.show_rows(rows)
        self.show_reason()

    def _list_units(self, view_model: ViewModel) -> list[Row]:
        rows = []
        for row in self.filter_rows(build_queue_rows(view_model.state, view_model.recent)):
            self._titles[row.unit], self._notes[row.unit] = row.title, row.note
            rows.append(_build_unit_row(row, view_model.now, is_ascii=self.is_ascii))
        return rows

    def _list_shards(self, view_model: ViewModel) -> list[Row]:
        rows = []
        for row in self.filter_rows(build_shard_rows(view_model.state, view_model.recent)):
            self._titles[row.name], self._notes[row.name] = f"{row.files} files", row.note
            rows.append(_build_shard_row(row, view_model.now, is_ascii=self.is_ascii))
        return rows

    @on(Table.RowHighlighted)
    def show_reason(self) -> None:
        """Show why the unit or shard with the cursor stands where it does."""
        why = self._notes.get(self.table.cursor or "", "")
        self.query_one("#merge-why", Drawing).show_rows([why])

    @on(Table.RowOpened)
    def open_report(self, message: Table.RowOpened) -> None:
        """Show the findings on a unit or a shard, and why it may land or not."""
        if message.key is None or self.view_model is None:
            return
        build_report = build_shard_report if self._is_migration else build_unit_report
        if (report := build_report(self.view_model, message.key)) is not None:
            self.app.push_screen(ReportScreen(report))

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The marked ones, else the one with the cursor."""
        kind: SubjectKind = "shard" if self._is_migration else "unit"
        return [Subject(kind, key, self._titles.get(key, "")) for key in self.table.selected_keys]


def _fit_columns(columns: Sequence[Column], width: int) -> Sequence[Column]:
    """Return the columns; where there is room, reasons get what the others leave."""
    if width < _WIDE:
        return columns
    fixed = []
    for column in columns:
        fixed.append(Column(column.key, column.title, 22 if column.grows else column.width, column.priority))
    return [*fixed, _WHY]


def _build_unit_row(row: QueueRow, now: datetime, *, is_ascii: bool) -> Row:
    task: list[Span] = [(row.task, "")]
    if row.title != get_task_key(row.task):
        task.append((f"  {row.title}", "dim"))
    cells: dict[str, Cell] = {
        "place": format_nonzero(row.place),
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "task": task,
        "try": format_nonzero(row.attempt, "a"),
        "why": row.note,
        "age": format_age(row.at, now),
    }
    for name in GATE_NAMES:
        cells[name] = _render_gate(row.gates.get(name, GateStatus()), is_ascii)
    return Row(row.unit, cells)


def _render_gate(status: GateStatus, is_ascii: bool) -> list[Span]:
    *glyphs, style = _MARKS[status.mark]
    words = status.words or _WORDS.get(status.mark, "")
    return [(f"{glyphs[is_ascii]} {words}".rstrip(), style)]


def _build_shard_row(row: ShardRow, now: datetime, *, is_ascii: bool) -> Row:
    cells: dict[str, Cell] = {
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "shard": row.name,
        "files": f"{row.landed}/{row.files}",
        "failed": render_failures(row.failed),
        "wave": format_nonzero(row.wave),
        "owner": row.owner,
        "commit": (row.commit, "dim"),
        "why": row.note,
        "age": format_age(row.at, now),
    }
    return Row(row.name, cells)
