"""The burndown of a migration: what remains over time, who and what is behind, what fails alike, file by file."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import RunState
from orchestrator.report.migration.burndown_model import GroupKind
from orchestrator.report.rows.file_rows import FILE_KEYS, build_file_rows, list_files_by_signature, list_group_files
from orchestrator.tui.rows.burndown_chart import BurndownMeasure, build_burndown_series, render_burndown_chart
from orchestrator.tui.rows.burndown_rows import (
    GROUP_KEYS,
    SIGNATURE_KEYS,
    build_group_rows,
    build_signature_rows,
    render_burndown_head,
)
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject
from orchestrator.tui.views.burndown_cells import (
    FILE_COLUMNS,
    GROUP_COLUMNS,
    SIGNATURE_COLUMNS,
    build_file_row,
    build_group_row,
    build_signature_row,
)
from orchestrator.tui.views.throttled_view import BRIEF_LINES, R, ThrottledView
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.styled_text import Span
from orchestrator.tui.widgets.table import Row, Table

BurndownTable = Literal["failures", "owners", "directories", "files"]
_SIDES: tuple[BurndownTable, ...] = ("failures", "owners", "directories", "files")
_ONLY_FILES = set(FILE_KEYS) - {*GROUP_KEYS, *SIGNATURE_KEYS}
_WIDE, _MOST_ROWS = 120, 14


class BurndownView(ThrottledView):
    """The progress of a migration: charts, and tables of failures, owners, directories and files."""

    TITLE = "Burndown"
    KEYS = (("t", "table"), ("enter", "its files, open"), ("c", "chart"), ("space", "mark"), ("esc", "back"))
    FIELDS = tuple(dict.fromkeys((*FILE_KEYS, *GROUP_KEYS, *SIGNATURE_KEYS)))
    DEFAULT_CSS = """
    BurndownView > #burndown-head { height: 3; }
    BurndownView.-tiny > #burndown-head { height: 1; }
    BurndownView > #burndown-charts { height: 0; }
    BurndownView > #burndown-files { display: none; }
    BurndownView.-files > #burndown-files { display: block; }
    BurndownView.-files > #burndown-groups { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "next_table", "The next table", show=False, id="burndown.table"),
        Binding("c", "chart", "The other chart", show=False, id="burndown.chart"),
        Binding("escape", "out", "Back to the groups", show=False, id="burndown.out"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._side: BurndownTable = "failures"
        self._measure: BurndownMeasure = "sites"
        self._group = ""
        self._cursors: dict[BurndownTable, str] = {}

    def compose(self) -> ComposeResult:
        """Build sums, charts, the name of the table, and the table: of groups or of files."""
        yield Drawing(id="burndown-head")
        with Horizontal(id="burndown-charts"):
            yield Drawing(id="chart-sites")
            yield Drawing(id="chart-files")
        yield Drawing(id="burndown-where")
        yield Table(SIGNATURE_COLUMNS, id="burndown-groups")
        yield Table(FILE_COLUMNS, id="burndown-files")

    # --- what is seen ------------------------------------------------------------------------------------------------

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything anew."""
        head = list(render_burndown_head(view_model.state, is_ascii=self.is_ascii))[:3]
        lines: list[list[Span]] = [[(line, "")] for line in head]
        lines[:1] = [[(line, "title")] for line in head[:1]]
        self.query_one("#burndown-head", Drawing).show_drawing(lambda _width, _height: lines)
        self._draw_charts(view_model.state)
        self.set_class(self._shows_files, "-files")
        if self._shows_files:
            self._show_rows(build_file_rows(view_model.state, self._list_files(view_model.state)), build_file_row)
        elif self._side == "failures":
            self._groups.show_columns(SIGNATURE_COLUMNS)
            self._show_rows(build_signature_rows(view_model.state), build_signature_row)
        else:
            self._groups.show_columns(GROUP_COLUMNS)
            self._show_rows(build_group_rows(view_model.state, self._group_kind), build_group_row)
        self.query_one("#burndown-where", Drawing).show_drawing(lambda _width, _height: [self._render_location()])

    def _show_rows(self, rows: Sequence[R], cells: Callable[[R, bool], Row]) -> None:
        self._table.set_empty_text(self.get_empty_text(_EMPTY[self._side]))
        self._table.show_rows(cells(row, self.is_ascii) for row in self.filter_rows(rows))

    def _draw_charts(self, state: RunState) -> None:
        """Draw both charts side by side, one where there is less room, none on small screens."""
        width, height = self.size.width, self.size.height
        is_high, is_wide = height >= BRIEF_LINES, width >= _WIDE
        charts = self.query_one("#burndown-charts", Horizontal)
        charts.styles.height = min(height // 3, _MOST_ROWS) if is_high else 0
        series = build_burndown_series(state)
        for what in _MEASURES:
            drawing = self.query_one(f"#chart-{what}", Drawing)
            drawing.styles.height = charts.styles.height
            drawing.display = is_high and (is_wide or what == self._measure)
            drawing.show_drawing(partial(render_burndown_chart, series, what, is_ascii=self.is_ascii))

    def _render_location(self) -> list[Span]:
        """Return the names of the tables, with the present one marked."""
        if self._group:
            return [(f"{self._side} > ", "dim"), (self._group, "title"), ("   esc back", "dim")]
        styles = dict.fromkeys(_SIDES, "dim") | {self._side: "title"}
        return [(f"{side}  ", style) for side, style in styles.items()]

    @property
    def _shows_files(self) -> bool:
        """True if files are listed, also because the filter asks for something that only files have."""
        asks_for_files = any(term.key in _ONLY_FILES for term in self.active_filter.terms)
        return bool(self._group) or self._side == "files" or asks_for_files

    def _list_files(self, state: RunState) -> Sequence[FileRecord]:
        if self._group:
            return self._list_files_of_row(state, self._group)
        return list(state.migration.files.values())

    def _list_files_of_row(self, state: RunState, name: str) -> Sequence[FileRecord]:
        """Return the files of a row of the present table."""
        if self._side == "failures":
            return list_files_by_signature(state, name)
        return list_group_files(state, self._group_kind, name)

    @property
    def _group_kind(self) -> GroupKind:
        return "owner" if self._side == "owners" else "dir"

    @property
    def _groups(self) -> Table:
        return self.query_one("#burndown-groups", Table)

    @property
    def _table(self) -> Table:
        """The one that is seen."""
        if self.has_class("-files"):
            return self.query_one("#burndown-files", Table)
        return self._groups

    # --- keys --------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow the way out only from the files of a group."""
        if action == "out":
            return bool(self._group)
        return True

    def action_next_table(self) -> None:
        """Show the next table; each keeps its cursor."""
        self._cursors[self._side] = self._table.cursor or ""
        self._side, self._group = _SIDES[(_SIDES.index(self._side) + 1) % len(_SIDES)], ""
        self._switch_table()
        self._table.move_to(self._cursors.get(self._side, ""))

    def action_chart(self) -> None:
        """Draw the sites that remain, or the fates of files; both where there is room."""
        self._measure = "files" if self._measure == "sites" else "sites"
        self.repaint_now()

    def action_out(self) -> None:
        """Go from the files of a group back to the groups."""
        self._group = ""
        self._switch_table()

    @on(Table.RowOpened)
    def open_row(self, message: Table.RowOpened) -> None:
        """Show the files of a group, or open a file."""
        message.stop()
        if message.key is None:
            return
        if self._shows_files:
            self.post_message(self.OpenRequested(Subject("file", message.key)))
        else:
            self._group = message.key
            self._switch_table()

    def _switch_table(self) -> None:
        """Show another table and give it the focus."""
        had_focus = self._table.has_focus
        self.repaint_now()
        if had_focus:
            self._table.focus()

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The marked files, else the one with the cursor; of groups, all the files in them."""
        if self._shows_files:
            return [Subject("file", key) for key in self._table.selected_keys]
        if self.view_model is None:
            return []
        state = self.view_model.state
        subjects = []
        for key in self._table.selected_keys:
            for file in self._list_files_of_row(state, key):
                subjects.append(Subject("file", file.path))
        return subjects

    @property
    def status_text(self) -> str:
        """The number of the table's rows that fit the filter."""
        return self.format_filter_count(len(self._table.rows))


_MEASURES: tuple[BurndownMeasure, ...] = ("sites", "files")
_EMPTY: Mapping[BurndownTable, str] = {
    "failures": "nothing has failed",
    "owners": "no file has anything to do",
    "directories": "no file has anything to do",
    "files": "no file is in scope",
}
