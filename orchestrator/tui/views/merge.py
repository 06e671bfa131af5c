"""The queue: what is at the gates, waits to land, is being tried, landed or was ejected. In a migration, its shards."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from textual import on
from textual.app import ComposeResult

from orchestrator.domain.ids import get_task_key
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.rows.queue_gates import GATE_NAMES, GateMark, GateStatus
from orchestrator.report.rows.queue_rows import QUEUE_KEYS, QueueRow, build_queue_rows, render_queue_line
from orchestrator.tui.rows.shard_rows import SHARD_KEYS, ShardRow, build_shard_rows, render_shards_line
from orchestrator.tui.screens.report import ReportScreen, build_shard_report, build_unit_report
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, SubjectKind
from orchestrator.tui.views.throttled_view import ThrottledView
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import Column, Row, Table

_WIDE = 110
_GATES = {
    "rules": ("RULES", 5),
    "tests": ("TESTS", 9),
    "review": ("REVIEW", 8),
    "person": ("PERSON", 7),
    "union": ("UNION", 5),
}
_UNITS = (
    Column("place", "POS", 3, priority=4, to_the_right=True),
    Column("state", "STATE", 7),
    Column("task", "TASK", 14, grows=True),
    Column("try", "ATT", 3, priority=3, to_the_right=True),
    *(Column(step, *_GATES[step], priority=2) for step in GATE_NAMES),
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
    """What lands."""

    TITLE = "Merge"
    KEYS = (("enter", "judge's report"), ("space", "mark"))
    FIELDS = tuple(dict.fromkeys((*QUEUE_KEYS, *SHARD_KEYS)))

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._total = 0
        self._is_migration = False
        self._titles: dict[str, str] = {}
        self._notes: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """A line that sums up, the table, and what there is no column for where it is narrow."""
        yield Drawing(id="merge-line")
        yield Table(_UNITS, empty="nothing is at the gates", id="merge-queue")
        yield Drawing(id="merge-why")

    def paint_view(self, moment: ViewModel) -> None:
        """All of it anew."""
        self._is_migration = moment.state.run.mode == "migration"
        if self._is_migration:
            words = render_shards_line(moment.state)
        else:
            words = render_queue_line(moment.state)
        self.query_one("#merge-line", Drawing).show_drawing(lambda _width, _height: [[(words, "title")]])
        self._table.show_columns(_columns(_SHARDS if self._is_migration else _UNITS, self.size.width))
        self.query_one("#merge-why", Drawing).display = self.size.width < _WIDE
        self._table.set_empty_text("nothing fits" if self.active_filter.text else "nothing is at the gates")
        self._table.show_rows(self._shards(moment) if self._is_migration else self._units(moment))
        self.show_reason()

    def _units(self, moment: ViewModel) -> list[Row]:
        rows = build_queue_rows(moment.state, moment.recent)
        self._total = len(rows)
        fit = []
        for row in rows:
            if self.active_filter.matches_row(row.get_filter_values()):
                fit.append(row)
        self._titles = {row.unit: row.title for row in fit}
        self._notes = {row.unit: row.note for row in fit}
        return [_unit(row, moment.now, is_ascii=self.is_ascii) for row in fit]

    def _shards(self, moment: ViewModel) -> list[Row]:
        rows = build_shard_rows(moment.state, moment.recent)
        self._total = len(rows)
        fit = []
        for row in rows:
            if self.active_filter.matches_row(row.get_filter_values()):
                fit.append(row)
        self._titles = {row.name: f"{row.files} files" for row in fit}
        self._notes = {row.name: row.note for row in fit}
        return [_shard(row, moment.now, is_ascii=self.is_ascii) for row in fit]

    @on(Table.RowHighlighted)
    def show_reason(self) -> None:
        """Say of the unit or shard with the cursor why it stands where it does."""
        why = self._notes.get(self._table.cursor or "", "")
        self.query_one("#merge-why", Drawing).show_drawing(lambda _width, _height: [[(why, "")]])

    @property
    def _table(self) -> Table:
        return self.query_one("#merge-queue", Table)

    @on(Table.RowOpened)
    def open_report(self, message: Table.RowOpened) -> None:
        """Show what was found of a unit or a shard, and why it may land or not."""
        message.stop()
        if message.key is None or self.view_model is None:
            return
        told = (build_shard_report if self._is_migration else build_unit_report)(self.view_model, message.key)
        if told is not None:
            self.app.push_screen(ReportScreen(told))

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The marked ones, else the one with the cursor."""
        kind: SubjectKind = "shard" if self._is_migration else "unit"
        return [Subject(kind, key, self._titles.get(key, "")) for key in self._table.selected_keys]

    @property
    def status_text(self) -> str:
        """How many of all fit the filter."""
        if self.active_filter.text:
            return f"{len(self._table.rows)} of {self._total}"
        return ""


def _columns(columns: Sequence[Column], width: int) -> Sequence[Column]:
    """With reasons, where there is room: then they get what the others leave."""
    if width < _WIDE:
        return columns
    return [*(Column(one.key, one.title, 22 if one.grows else one.width, one.priority) for one in columns), _WHY]


def _unit(row: QueueRow, now: datetime, *, is_ascii: bool) -> Row:
    cells: dict[str, Cell] = {
        "place": str(row.place) if row.place else "",
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "task": [(row.task, ""), (f"  {row.title}" if row.title != get_task_key(row.task) else "", "dim")],
        "try": f"a{row.attempt}" if row.attempt else "",
        "why": row.note,
        "age": format_short_duration(max((now - row.at).total_seconds(), 0.0)) if row.at else "",
    }
    gates: dict[str, Cell] = {step: _gate(row.gates.get(step, GateStatus()), is_ascii) for step in GATE_NAMES}
    return Row(row.unit, cells | gates)


def _gate(passed: GateStatus, is_ascii: bool) -> list[Span]:
    glyph, plain, style = _MARKS[passed.mark]
    words = passed.words or _WORDS.get(passed.mark, "")
    return [(f"{plain if is_ascii else glyph} {words}".rstrip(), style)]


def _shard(row: ShardRow, now: datetime, *, is_ascii: bool) -> Row:
    cells: dict[str, Cell] = {
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "shard": row.name,
        "files": f"{row.landed}/{row.files}",
        "failed": (str(row.failed), "state-fail") if row.failed else "",
        "wave": str(row.wave) if row.wave else "",
        "owner": row.owner,
        "commit": (row.commit, "dim"),
        "why": row.note,
        "age": format_short_duration(max((now - row.at).total_seconds(), 0.0)) if row.at else "",
    }
    return Row(row.name, cells)
