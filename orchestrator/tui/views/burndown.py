"""The burndown of a migration: what remains over time, who and what is behind, what fails alike, file by file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.durations import format_seconds
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration import burndown_text
from orchestrator.report.migration.burndown import BurndownBounds, build_burndown, build_failure_signatures
from orchestrator.report.migration.burndown_model import SIGNATURE_KEYS, GroupKind
from orchestrator.report.migration.file_groups import GROUP_KEYS, FileGroup, build_file_groups
from orchestrator.report.rows import file_rows
from orchestrator.tui.panes.preview import PreviewPanel
from orchestrator.tui.rows.burndown_chart import BurndownMeasure, build_burndown_series, render_burndown_chart
from orchestrator.tui.rows.empty_screens import NO_FILE_IN_SCOPE, NO_FILE_TO_DO, NOTHING_FAILED
from orchestrator.tui.rows.row_preview import render_file_preview
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import (
    BRIEF_LINES,
    ROOMY_LINES,
    STATE_COLUMN,
    R,
    Subject,
    ThrottledView,
    format_nonzero,
    render_bar,
    render_failures,
)
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell, LeftTruncatedText, Span
from orchestrator.tui.widgets.table import CellContext, Column, Table, build_row

_BAR_CELLS = 6


def _render_share(row: FileGroup, context: CellContext) -> Cell:
    share = f"{row.done / row.files:4.0%}" if row.files else "   -"
    return render_bar(f"{share}  ", row.done, row.files, _BAR_CELLS, is_ascii=context.is_ascii)


def _render_reason(row: file_rows.FileRow, _context: CellContext) -> Cell:
    why = row.status.word * (row.status.word != row.activity.word)
    if row.reason:
        why = f"{why}: {row.reason}"
    for flag in row.flags:
        why += f" [{flag}]"
    return why


SIGNATURE_COLUMNS = (
    Column("files", "COUNT", 5, to_the_right=True, cell=lambda row, _: str(row.files)),
    Column("left", "LEFT", 6, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.sites)),
    Column("signature", "FAILED OF", 30, grows=True, cell=lambda row, _: row.signature),
    Column("steps", "STEP", 12, priority=2, cell=lambda row, _: (", ".join(row.steps), "dim")),
    Column("examples", "FILES", 24, priority=3, cell=lambda row, _: (", ".join(row.examples), "dim")),
)
GROUP_COLUMNS = (
    Column("name", "NAME", 18, cell=lambda row, _: row.name),
    Column("files", "FILES", 5, priority=3, to_the_right=True, cell=lambda row, _: str(row.files)),
    Column("bar", "DONE", 14, cell=_render_share),
    Column("left", "LEFT", 6, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.left)),
    Column("failed", "FAILED", 6, priority=2, to_the_right=True, cell=lambda row, _: render_failures(row.rejected)),
    Column("prs", "PRS", 3, priority=6, to_the_right=True, cell=lambda row, _: format_nonzero(row.prs)),
    Column("seconds", "S/FILE", 6, 5, to_the_right=True, cell=lambda row, _: format_seconds(row.median_seconds)),
    Column("cost", "COST", 8, priority=4, to_the_right=True, cell=lambda row, _: row.price),
    Column("reason", "TOP REASON", 16, 7, grows=True, cell=lambda row, _: (to_one_line(row.top_reason, 300), "dim")),
)
FILE_COLUMNS = (
    STATE_COLUMN,
    Column("path", "FILE", 20, cell=lambda row, _: LeftTruncatedText(row.path)),
    Column("left", "LEFT", 5, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.left)),
    Column("step", "STEP", 12, priority=3, cell=lambda row, _: (row.step, "dim")),
    Column("tries", "TRY", 3, 5, to_the_right=True, cell=lambda row, _: str(row.attempt) * (row.attempt > 1)),
    Column("cost", "COST", 7, priority=4, to_the_right=True, cell=lambda row, _: row.price),
    Column("reason", "WHY", 10, priority=2, grows=True, cell=_render_reason),
)
_HEAD = BurndownBounds(points=48, groups=0, signatures=0)


def render_burndown_head(state: RunState, *, is_ascii: bool = False) -> Iterator[str]:
    """Yield progress, forecast and cost, and what waits for a person."""
    burndown = build_burndown(state, _HEAD)
    glyphs = burndown_text.ASCII_GLYPHS if is_ascii else burndown_text.UNICODE_GLYPHS
    yield burndown_text.render_burndown_headline(burndown, glyphs)
    yield burndown_text.render_files_line(burndown).strip()
    yield from map(str.strip, burndown_text.render_waiting_lines(burndown))


BurndownTable = Literal["failures", "owners", "directories", "files"]
_SIDES: tuple[BurndownTable, ...] = ("failures", "owners", "directories", "files")
_ONLY_FILES = set(file_rows.FILE_KEYS) - {*GROUP_KEYS, *SIGNATURE_KEYS}
_WIDE, _MOST_ROWS = 120, 14


class BurndownView(ThrottledView):
    """The progress of a migration: charts, and tables of failures, owners, directories and files."""

    TITLE = "Burndown"
    KEYS = (("t", "table"), ("enter", "its files, open"), ("c", "chart"), ("space", "mark"), ("esc", "back"))
    FIELDS = tuple(dict.fromkeys((*file_rows.FILE_KEYS, *GROUP_KEYS, *SIGNATURE_KEYS)))
    DEFAULT_CSS = """
    BurndownView > #burndown-head { height: 3; }
    BurndownView.-tiny > #burndown-head { height: 1; }
    BurndownView #burndown-charts { height: 0; }
    BurndownView > #burndown-rows { height: 3fr; }
    BurndownView #burndown-files { display: none; }
    BurndownView.-files #burndown-files { display: block; }
    BurndownView.-files #burndown-groups { display: none; }
    BurndownView > PreviewPanel { display: none; height: 2fr; }
    BurndownView.-previewed > PreviewPanel { display: block; }
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
        with Panel(classes="-optional") as charts, Horizontal(id="burndown-charts"):
            charts.show_title([("Burndown", "title")])
            yield Drawing(id="chart-sites")
            yield Drawing(id="chart-files")
        with Panel(id="burndown-rows"):
            yield Table(SIGNATURE_COLUMNS, id="burndown-groups")
            yield Table(FILE_COLUMNS, id="burndown-files")
        yield PreviewPanel(is_ascii=self.is_ascii)

    # --- what is seen ------------------------------------------------------------------------------------------------

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything anew."""
        state = view_model.state
        title, *more = render_burndown_head(state, is_ascii=self.is_ascii)
        self.query_one("#burndown-head", Drawing).show_rows([(title, "title"), *more[:2]])
        self._draw_charts(state)
        self.set_class(self._shows_files, "-files")
        if self._shows_files:
            rows = file_rows.build_file_rows(state, self._list_files(state))
            self._show_rows(FILE_COLUMNS, rows, attrgetter("path"))
        elif self._side == "failures":
            signatures = build_failure_signatures(state)
            self._show_rows(SIGNATURE_COLUMNS, signatures, attrgetter("signature"))
        else:
            groups = build_file_groups(state, self._group_kind)
            self._show_rows(GROUP_COLUMNS, groups, attrgetter("name"))
        self.query_one("#burndown-rows", Panel).show_title(self._render_location())
        self.show_preview()

    def _show_rows(self, columns: Sequence[Column], rows: Sequence[R], get_key: Callable[[R], str]) -> None:
        self.table.show_columns(columns)
        self.table.set_empty_text(self.get_empty_text(_EMPTY[self._side]))
        context = self.cell_context
        self.table.show_rows(build_row(get_key(row), row, columns, context) for row in self.filter_rows(rows))

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
        styles = dict.fromkeys(_SIDES, "dim") | {self._side: "chosen"}
        spans: list[Span] = []
        for side, style in styles.items():
            spans += [(side, style), ("  ", "")]
        return spans[:-1]

    @on(Table.RowHighlighted)
    def show_preview(self) -> None:
        """Show why the file with the cursor did not land, or the first file of a group of equal failures."""
        file = self._find_previewed_file()
        has_room = self.size.height >= ROOMY_LINES
        self.set_class(has_room and file is not None, "-previewed")
        if file is None or self.view_model is None or not has_room:
            return
        preview = self.query_one(PreviewPanel)
        preview.show_lines([(file.path, "title")], file.path, render_file_preview(self.view_model.state, file))
        preview.show_keys((("enter", "opens it" if self._shows_files else "its files"),))

    def _find_previewed_file(self) -> FileRecord | None:
        key = self.table.cursor
        if key is None or self.view_model is None:
            return None
        if self._shows_files:
            return self.view_model.state.migration.files.get(key)
        if self._side == "failures":
            return next(iter(self._list_files_of_row(self.view_model.state, key)), None)
        return None

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
            return file_rows.list_files_by_signature(state, name)
        return file_rows.list_group_files(state, self._group_kind, name)

    @property
    def _group_kind(self) -> GroupKind:
        return "owner" if self._side == "owners" else "dir"

    @property
    def table(self) -> Table:
        """The table that is seen."""
        return self.query_one("#burndown-files" if self.has_class("-files") else "#burndown-groups", Table)

    # --- keys --------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow the way out only from the files of a group."""
        return action != "out" or bool(self._group)

    def action_next_table(self) -> None:
        """Show the next table; each keeps its cursor."""
        self._cursors[self._side] = self.table.cursor or ""
        self._side, self._group = _SIDES[(_SIDES.index(self._side) + 1) % len(_SIDES)], ""
        self._switch_table()
        self.table.move_to(self._cursors.get(self._side, ""))

    def action_chart(self) -> None:
        """Draw the sites that remain, or the fates of files; both where there is room."""
        self._measure = "files" if self._measure == "sites" else "sites"
        self.repaint_now()

    def action_out(self) -> None:
        """Go from the files of a group back to the groups."""
        self._group = ""
        self._switch_table()

    def find_subject(self, key: str) -> Subject | None:
        """Return the file of a row; a group is none."""
        if not self._shows_files:
            return None
        return Subject("file", key)

    def open_row(self, key: str) -> None:
        """Show the files of a group, or open a file."""
        if self._shows_files:
            super().open_row(key)
        else:
            self._group = key
            self._switch_table()

    def _switch_table(self) -> None:
        """Show another table and give it the focus."""
        had_focus = self.table.has_focus
        self.repaint_now()
        if had_focus:
            self.table.focus()

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The marked files, else the one with the cursor; of groups, all the files in them."""
        if self._shows_files or self.view_model is None:
            return super().selected_subjects
        state = self.view_model.state
        groups = map(partial(self._list_files_of_row, state), self.table.selected_keys)
        return [Subject("file", file.path) for file in chain.from_iterable(groups)]


_MEASURES: tuple[BurndownMeasure, ...] = ("sites", "files")
_EMPTY: Mapping[BurndownTable, str] = {
    "failures": NOTHING_FAILED,
    "owners": NO_FILE_TO_DO,
    "directories": NO_FILE_TO_DO,
    "files": NO_FILE_IN_SCOPE,
}
