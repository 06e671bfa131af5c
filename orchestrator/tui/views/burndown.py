"""The burndown of a migration: what remains over time, who and what is behind, what fails alike, file by file."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, Protocol, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from orchestrator.domain.migration import FileRecord
from orchestrator.domain.state import RunState
from orchestrator.report.burndown_chart import What, chart, series_of
from orchestrator.report.burndown_rows import GROUP_KEYS, SIGNATURE_KEYS, group_rows, headlines, signature_rows
from orchestrator.report.file_rows import FILE_KEYS, file_rows, files_alike, files_of_group
from orchestrator.report.filtering import Value
from orchestrator.tui.moment import Moment
from orchestrator.tui.view import Subject
from orchestrator.tui.views.burndown_cells import FILES, GROUPS, SIGNATURES, file_cells, group_cells, signature_cells
from orchestrator.tui.views.steady import BRIEF, SteadyView
from orchestrator.tui.widgets.cells import Span
from orchestrator.tui.widgets.charts import Drawing
from orchestrator.tui.widgets.table import Row, Table

Side = Literal["failures", "owners", "directories", "files"]
_SIDES: tuple[Side, ...] = ("failures", "owners", "directories", "files")
_ONLY_FILES = set(FILE_KEYS) - {*GROUP_KEYS, *SIGNATURE_KEYS}
_WIDE, _MOST_ROWS = 120, 14


class _Told(Protocol):
    """A row that can be filtered."""

    def fields(self) -> Mapping[str, Value]:
        """By what."""
        ...


R = TypeVar("R", bound=_Told)


class BurndownView(SteadyView):
    """How far a migration is."""

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
        Binding("t", "side", "The next table", show=False, id="burndown.table"),
        Binding("c", "chart", "The other chart", show=False, id="burndown.chart"),
        Binding("escape", "out", "Back to the groups", show=False, id="burndown.out"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._side: Side = "failures"
        self._what: What = "sites"
        self._within = ""
        self._cursors: dict[Side, str] = {}
        self._total = 0

    def compose(self) -> ComposeResult:
        """Sums, charts, the name of the table, and the table: of groups or of files."""
        yield Drawing(id="burndown-head")
        with Horizontal(id="burndown-charts"):
            yield Drawing(id="chart-sites")
            yield Drawing(id="chart-files")
        yield Drawing(id="burndown-where")
        yield Table(SIGNATURES, id="burndown-groups")
        yield Table(FILES, id="burndown-files")

    # --- what is seen ------------------------------------------------------------------------------------------------

    def paint(self, moment: Moment) -> None:
        """All of it anew."""
        head = list(headlines(moment.state, is_ascii=self.is_ascii))[:3]
        self.query_one("#burndown-head", Drawing).put(
            lambda _width, _height: [[(line, "title" if number == 0 else "")] for number, line in enumerate(head)]
        )
        self._draw_charts(moment.state)
        self.set_class(self._shows_files, "-files")
        if self._shows_files:
            self._put(file_rows(moment.state, self._files(moment.state)), file_cells)
        elif self._side == "failures":
            self._groups.put_columns(SIGNATURES)
            self._put(signature_rows(moment.state), signature_cells)
        else:
            self._groups.put_columns(GROUPS)
            self._put(group_rows(moment.state, "owner" if self._side == "owners" else "dir"), group_cells)
        self.query_one("#burndown-where", Drawing).put(lambda _width, _height: [self._where()])

    def _put(self, rows: Sequence[R], cells: Callable[[R, bool], Row]) -> None:
        fit = [row for row in rows if self.wanted.fits(row.fields())]
        self._total = len(rows)
        self._table.say_if_empty("nothing fits" if self.wanted.text else _EMPTY[self._side])
        self._table.put(cells(row, self.is_ascii) for row in fit)

    def _draw_charts(self, state: RunState) -> None:
        """Both charts side by side, one where there is less room, none on small screens."""
        width, height = self.size.width, self.size.height
        is_high, is_wide = height >= BRIEF, width >= _WIDE
        charts = self.query_one("#burndown-charts", Horizontal)
        charts.styles.height = min(height // 3, _MOST_ROWS) if is_high else 0
        series = series_of(state)
        for what in _WHATS:
            drawing = self.query_one(f"#chart-{what}", Drawing)
            drawing.styles.height = charts.styles.height
            drawing.display = is_high and (is_wide or what == self._what)
            drawing.put(partial(chart, series, what, is_ascii=self.is_ascii))

    def _where(self) -> list[Span]:
        """Which table it is, of which there are."""
        if self._within:
            return [(f"{self._side} > ", "dim"), (self._within, "title"), ("   esc back", "dim")]
        return [(f"{side}  ", "title" if side == self._side else "dim") for side in _SIDES]

    @property
    def _shows_files(self) -> bool:
        """Also when what is asked for is something that only files have."""
        asks_for_files = any(term.key in _ONLY_FILES for term in self.wanted.terms)
        return bool(self._within) or self._side == "files" or asks_for_files

    def _files(self, state: RunState) -> Sequence[FileRecord]:
        return self._of(state, self._within) if self._within else list(state.files.values())

    def _of(self, state: RunState, name: str) -> Sequence[FileRecord]:
        """The files of a row of the present table."""
        if self._side == "failures":
            return files_alike(state, name)
        return files_of_group(state, "owner" if self._side == "owners" else "dir", name)

    @property
    def _groups(self) -> Table:
        return self.query_one("#burndown-groups", Table)

    @property
    def _table(self) -> Table:
        """The one that is seen."""
        return self.query_one("#burndown-files", Table) if self.has_class("-files") else self._groups

    # --- keys --------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is only a way out of what one went into."""
        return bool(self._within) if action == "out" else True

    def action_side(self) -> None:
        """The next table; each keeps its cursor."""
        self._cursors[self._side] = self._table.cursor or ""
        self._side, self._within = _SIDES[(_SIDES.index(self._side) + 1) % len(_SIDES)], ""
        self._go()
        self._table.move_to(self._cursors.get(self._side, ""))

    def action_chart(self) -> None:
        """What remains, or what became of the files; both where there is room."""
        self._what = "files" if self._what == "sites" else "sites"
        self.again()

    def action_out(self) -> None:
        """From the files of a group back to the groups."""
        self._within = ""
        self._go()

    @on(Table.Opened)
    def open_row(self, message: Table.Opened) -> None:
        """Of a group, show the files; a file, whole."""
        message.stop()
        if message.key is None:
            return
        if self._shows_files:
            self.post_message(self.Opened(Subject("file", message.key)))
        else:
            self._within = message.key
            self._go()

    def _go(self) -> None:
        """Show another table, and let the keys go there."""
        had_focus = self._table.has_focus
        self.again()
        if had_focus:
            self._table.focus()

    @property
    def chosen(self) -> Sequence[Subject]:
        """The marked files, else the one with the cursor; of groups, all the files in them."""
        if self._shows_files:
            return [Subject("file", key) for key in self._table.chosen]
        if self.moment is None:
            return []
        state = self.moment.state
        return [Subject("file", file.path) for key in self._table.chosen for file in self._of(state, key)]

    @property
    def told(self) -> str:
        """How many of the table's rows fit the filter."""
        return f"{len(self._table.rows)} of {self._total}" if self.wanted.text else ""


_WHATS: tuple[What, ...] = ("sites", "files")
_EMPTY: Mapping[Side, str] = {
    "failures": "nothing has failed",
    "owners": "no file has anything to do",
    "directories": "no file has anything to do",
    "files": "no file is in scope",
}
