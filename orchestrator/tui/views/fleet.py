"""The first tab: who is at work, who waits, who needs somebody; below it what the chosen one says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from orchestrator.domain.ids import SessionId
from orchestrator.domain.text.listing import format_count
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AGENT_KEYS, AgentRow, RowKind
from orchestrator.report.rows.row_filter import NO_FILTER, RowFilter
from orchestrator.tui.keymap import get_key_hints
from orchestrator.tui.panes.preview import PreviewPanel
from orchestrator.tui.rows.empty_screens import NO_EVENT, NO_FIT, describe_empty_fleet
from orchestrator.tui.rows.row_preview import render_row_preview
from orchestrator.tui.rows.state_counts import count_states
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, SubjectKind, ThrottledView
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell, LeftTruncatedText, Span
from orchestrator.tui.widgets.table import CellContext, Column, Row, Table

_NARROW = (
    Column("id", "ID", 4),
    Column("state", "STATE", 9),
    Column("task", "TASK", 12, grows=True),
    Column("last", "LAST", 16, priority=2),
    Column("age", "AGE", 6, priority=1),
)
_COLUMNS = (
    Column("id", "ID", 4),
    Column("state", "STATE", 9),
    Column("role", "ROLE", 7, priority=2),
    Column("task", "TASK", 26),
    Column("branch", "BRANCH", 14, priority=8),
    Column("model", "MODEL", 14, priority=9),
    Column("turn", "TURN", 4, priority=3, to_the_right=True),
    Column("tokens", "TOK", 6, priority=6, to_the_right=True),
    Column("cost", "COST", 7, priority=4, to_the_right=True),
    Column("change", "+/-", 9, priority=5, to_the_right=True),
    Column("age", "AGE", 6, priority=7, to_the_right=True),
    Column("last", "LAST", 18, priority=1, grows=True),
)
_FILES = (
    Column("state", "STATE", 9),
    Column("role", "KIND", 6, priority=2),
    Column("task", "WHAT", 26, grows=True),
    Column("branch", "STEP", 14, priority=3),
    Column("last", "LAST", 18, priority=1, grows=True),
)
"""For a migration in which nobody talks to a model."""
_NOBODY = {"count", "step", "shard"}
_SMALL = 80
_PREVIEW_LINES, _BESIDE_COLUMNS = 16, 170
"""Lines of the view from which on there is a preview below the rows, and columns from which on it is beside them."""
_KEYS = (("space", "mark"), ("s", "sort"), ("z", "done"))
_QUIET = {Activity.QUEUE, Activity.PAUSE, Activity.STOP, Activity.DONE}
_SUBJECTS: dict[RowKind, SubjectKind] = {
    "session": "session", "task": "task", "approval": "approval", "file": "file", "shard": "shard",
}  # fmt: skip

_BIGGEST_FIRST: Mapping[str, Callable[[AgentRow], float]] = {
    "age": lambda row: row.age_s or 0.0,
    "cost": lambda row: row.usd or 0.0,
    "tokens": lambda row: row.spent.tokens,
    "change": lambda row: sum(row.changed_lines or (0, 0)),
}
FLEET_ORDERS: Sequence[str] = ("attention", *_BIGGEST_FIRST, "task")
"""The orders of rows."""
DONE_ROW_ID = "done"
"""The id of the row that stands for all that is done."""


@dataclass(frozen=True)
class FleetViewOptions:
    """Options of the fleet's view. `is_whole` shows finished work row by row."""

    wanted: RowFilter = NO_FILTER
    order: str = "attention"
    is_reversed: bool = False
    is_whole: bool = False

    @property
    def needs_every_file(self) -> bool:
        """True if every file of a migration needs a row: a filter may fit any of them."""
        return self.is_whole or bool(self.wanted.terms)

    def select_rows(self, rows: Sequence[AgentRow]) -> list[AgentRow]:
        """Return the rows to show, of all rows sorted by attention."""
        fitting = list(rows) if self.needs_every_file else _count_done_rows(rows)
        if self.wanted.terms:
            fitting = [row for row in rows if self.wanted.matches_row(row.get_filter_values())]
        if self.order in _BIGGEST_FIRST:
            fitting.sort(key=_BIGGEST_FIRST[self.order], reverse=True)
        elif self.order == "task":
            fitting.sort(key=lambda row: (row.task, row.id))
        return fitting[::-1] if self.is_reversed else fitting


def _count_done_rows(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Replace rows of what is done by one row at the end that counts them."""
    kept = [row for row in rows if row.activity is not Activity.DONE or row.kind == "count"]
    done = len(rows) - len(kept)
    if not done:
        return kept
    counted = AgentRow("count", DONE_ROW_ID, "-", Activity.DONE, title=format_count(done, "task"), count=done)
    return [*kept, counted]


class FleetView(ThrottledView):
    """Rows sorted by attention; `z` shows what is done, `s` sorts otherwise, `v` takes the preview away."""

    TITLE = "Fleet"
    FIELDS = AGENT_KEYS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Sort by another column", show=False, id="fleet.sort"),
        Binding("S", "reverse_sort", "Sort the other way round", show=False, id="fleet.reverse"),
        Binding("z", "toggle_done", "Show what is done", show=False, id="fleet.done"),
        Binding("v", "preview", "Show or hide the preview", show=False, id="fleet.preview"),
    ]
    DEFAULT_CSS = """
    FleetView > PreviewPanel { display: none; height: 2fr; }
    FleetView > #fleet-rows { height: 3fr; }
    FleetView.-previewed > PreviewPanel { display: block; }
    FleetView.-beside { layout: horizontal; }
    FleetView.-beside > #fleet-rows { width: 3fr; height: 1fr; }
    FleetView.-beside > PreviewPanel { width: 2fr; height: 1fr; }
    """

    _options = FleetViewOptions()
    _rows: Mapping[str, AgentRow] = MappingProxyType({})
    _total = 0
    _wants_preview = True

    def compose(self) -> ComposeResult:
        """Build the table, and the preview below it."""
        with Panel(id="fleet-rows"):
            yield Table(_COLUMNS, empty=NO_EVENT)
        yield PreviewPanel(is_ascii=self.is_ascii)

    @property
    def KEYS(self) -> Sequence[tuple[str, str]]:  # type: ignore[override]
        """The keys for the row with the cursor, then those of the table."""
        keys = [("enter", "open")]
        row = self._current_row if self.children else None
        if row is not None:
            keys += get_key_hints(row.activity)
        keys += _KEYS
        if self._may_preview(row):
            keys.append(("v", "preview"))
        return keys

    @property
    def _current_row(self) -> AgentRow | None:
        return self._rows.get(self.table.cursor or "")

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint the rows as of now; a small screen has room for less of them."""
        self.set_class(self.size.width >= _BESIDE_COLUMNS, "-beside")
        self._show_columns(view_model)
        found = view_model.build_fleet_rows(is_whole=self._options.needs_every_file)
        self._total = sum(row.count for row in found)
        self._rows = {row.key: row for row in self._options.select_rows(found)}
        self.table.set_empty_text(NO_FIT if found else describe_empty_fleet(view_model.state))
        self.query_one("#fleet-rows", Panel).show_title([("Fleet", "title"), *_count_rows(found)])
        self.table.show_rows(self.build_rows(self._rows, _build_row))
        row = self._current_row
        if row is not None and row.kind in _NOBODY and not self.table.is_cursor_placed:  # nobody would begin with it
            self.table.move_to(next(iter(self._rows)))
        self._show_preview()

    def _show_columns(self, view_model: ViewModel) -> None:
        """Show the columns that fit the width and the run: a migration without models has less to be told."""
        state = view_model.state
        if self.size.width < _SMALL:
            self.table.show_columns(_NARROW)
        elif state.run.mode == "goal" or state.sessions:
            self.table.show_columns(_COLUMNS)
        else:
            self.table.show_columns(_FILES)

    def _may_preview(self, row: AgentRow | None) -> bool:
        return row is not None and self.size.width >= _SMALL and self.size.height >= _PREVIEW_LINES

    def _show_preview(self) -> None:
        row = self._current_row
        self.set_class(self._wants_preview and self._may_preview(row), "-previewed")
        if not self.has_class("-previewed") or row is None or self.view_model is None:
            return
        preview = self.query_one(PreviewPanel)
        title: list[Span] = [(row.activity.render_label(self.is_ascii), row.activity.style)]
        title.append((f" {' '.join(filter(None, (row.name.strip('-'), row.task, row.title)))}", "title"))
        preview.show_keys((("enter", "opens it"), *get_key_hints(row.activity)))
        if row.kind == "session" and row.activity is not Activity.ASK:
            preview.show_conversation(title, self.view_model, SessionId(row.id))
        else:
            lines = render_row_preview(self.view_model.state, row, self.view_model.now)
            preview.show_lines(title, row.key, lines)

    def apply_filter(self, wanted: RowFilter) -> None:
        """Show only rows that fit, also of what is done."""
        self._set_options(replace(self._options, wanted=wanted))

    def _set_options(self, options: FleetViewOptions) -> None:
        self._options = options
        self.repaint_now()

    def find_subject(self, key: str) -> Subject | None:
        """Return the thing of a row; a row that counts is none."""
        row = self._rows.get(key)
        if row is None or row.kind not in _SUBJECTS:
            return None
        return Subject(_SUBJECTS[row.kind], row.id, row.title)

    @property
    def status_text(self) -> str:
        """The number of rows shown, of all, and their order if it is not by attention."""
        counts = f"{sum(row.count for row in self._rows.values())} of {self._total}"
        if self._options.order == "attention" and not self._options.is_reversed:
            return counts
        return f"{counts}  sort: {'-' * self._options.is_reversed}{self._options.order}"

    def on_table_row_highlighted(self, event: Table.RowHighlighted) -> None:
        """Show the preview of the row with the cursor."""
        self._show_preview()

    def open_row(self, key: str) -> None:
        """Open the row's thing; a row that counts is expanded."""
        if key in self._rows and self._rows[key].kind == "count":
            self.action_toggle_done()
        else:
            super().open_row(key)

    def on_table_header_clicked(self, event: Table.HeaderClicked) -> None:
        """Sort by the clicked column, where that can be."""
        if event.column in FLEET_ORDERS:
            self._set_options(replace(self._options, order=event.column))

    def action_sort(self) -> None:
        """Sort by the next order."""
        place = (FLEET_ORDERS.index(self._options.order) + 1) % len(FLEET_ORDERS)
        self._set_options(replace(self._options, order=FLEET_ORDERS[place]))

    def action_reverse_sort(self) -> None:
        """Reverse the order."""
        self._set_options(replace(self._options, is_reversed=not self._options.is_reversed))

    def action_toggle_done(self) -> None:
        """Show what is done row by row, or count it again."""
        self._set_options(replace(self._options, is_whole=not self._options.is_whole))

    def action_preview(self) -> None:
        """Show the preview, or hide it."""
        self._wants_preview = not self._wants_preview
        self._show_preview()


def _count_rows(rows: Sequence[AgentRow]) -> list[Span]:
    """Return how many rows are in each state, without planners that wait for their tasks."""
    waiting = Activity.QUEUE.urgency
    counted = (row for row in rows if row.activity is not Activity.RUN or row.urgency != waiting)
    return count_states((row.activity, row.count) for row in counted)


def _build_row(row: AgentRow, context: CellContext) -> Row:
    texts = row.render_cells(context.is_ascii)
    cells: dict[str, Cell] = {**texts, "state": (texts["state"], row.activity.style)}
    if row.kind == "file":
        cells["task"] = LeftTruncatedText(texts["task"])
    return Row(row.key, cells, "dim" * (row.activity in _QUIET))
