"""The base of every tab of the dashboard: it paints what changed; and the cells that several have."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from time import monotonic, thread_time
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

from textual.containers import Vertical
from textual.message import Message

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.rows.row_filter import NO_FILTER, FilterValue, RowFilter
from orchestrator.tui.rows.empty_screens import NO_FIT
from orchestrator.tui.rows.text_plots import get_glyphs
from orchestrator.tui.run_feed.event_backfill import EventBackfill
from orchestrator.tui.view_model import Subject, SubjectKind, ViewModel
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import CellContext, Column, Row, Table
from orchestrator.tui.widgets.text_pager import LineSource, TextPager

__all__ = ["DashboardView", "Subject", "SubjectKind"]


class DashboardView(Vertical):
    """One tab. `TITLE` is its name; `KEYS` are its own keys with what they do, for the last line and for `?`.

    One that shows a single thing whole has that thing's subject as its first argument.
    """

    TITLE: ClassVar[str] = ""
    KEYS: ClassVar[Sequence[tuple[str, str]]] = ()
    FIELDS: ClassVar[Sequence[str]] = ()
    """The fields that a filter can ask for here; `apply_filter` is given no other."""

    class OpenRequested(Message):
        """Request to open the detail view of a thing."""

        def __init__(self, subject: Subject) -> None:
            super().__init__()
            self.subject = subject

    def show_view_model(self, view_model: ViewModel) -> None:
        """Show a view model: called at most four times a second, and only while the tab is in front."""
        raise NotImplementedError

    def apply_filter(self, wanted: RowFilter) -> None:
        """Show only what fits a filter from now on."""

    @property
    def table(self) -> Table:
        """Its table, the one that is seen if it has several."""
        return self.query_one(Table)

    @property
    def is_ascii(self) -> bool:
        """True if only ASCII can be shown."""
        return bool(getattr(getattr(self.app, "settings", None), "is_ascii", False))

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The subjects of actions: the marked rows, else the one with the cursor; empty if there are none."""
        return ()

    def select_subject(self, subject: Subject) -> None:
        """Put the cursor on a thing."""

    @property
    def status_text(self) -> str:
        """A few words for the line of tabs, as `2 of 16`; empty if there is nothing to say."""
        return ""

    def find_stream_lines(self) -> LineSource | None:
        """Return the lines that stream mode prints, of the text with the focus or else of a visible one."""
        visible = [lines for lines in self.query(TextPager) if lines.is_on_screen]
        return max(visible, key=lambda lines: lines.has_focus).source if visible else None


_REST = 9.0
"""So many times as long as its work kept a core does a view rest."""
_SHORT_REST, _SHORT_S = 40.0, 1.0
"""Rests of up to so many seconds are longer: drawing what was made costs twice as much again as making it."""
_CLOCK_S = 5.0
"""Seconds after which ages on the screen are brought up to date."""
ROOMY_LINES, BRIEF_LINES, TINY_LINES = 28, 20, 12
"""Views of as many lines have the class `-roomy`, those of fewer the classes `-brief` and `-tiny`."""


class FilterableRow(Protocol):
    """A row that can be filtered."""

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""


T = TypeVar("T")
R = TypeVar("R", bound=FilterableRow)


class ThrottledView(DashboardView):
    """Implements `show_view_model` by `paint_view`, which paints everything from a view model.

    Keys that change what is shown call `repaint_now`.
    """

    DEFAULT_CSS = "ThrottledView.-brief Panel { border: none; }"

    view_model: ViewModel | None = None
    active_filter: RowFilter = NO_FILTER
    total_count = 0
    """The rows before the filter."""
    _built: Mapping[str, tuple[object, Row]] = MappingProxyType({})
    _painted: tuple[object, ...] = ()
    _rests_until = 0.0

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint everything in the view."""
        raise NotImplementedError

    def show_view_model(self, view_model: ViewModel) -> None:
        """Paint, unless nothing has changed or it is too soon."""
        self.view_model = view_model
        clock = int(view_model.now.timestamp() // _CLOCK_S)
        sign = (view_model.seq, view_model.connection, clock, self.size)
        if view_model.state.started is None or sign == self._painted or monotonic() < self._rests_until:
            return
        if not self.children:  # it may be coming or going
            return
        begun = thread_time()
        self.set_class(self.size.height >= ROOMY_LINES, "-roomy")
        self.set_class(self.size.height < BRIEF_LINES, "-brief")
        self.set_class(self.size.height < TINY_LINES, "-tiny")
        self.paint_view(view_model)
        self._painted, self._rests_until = sign, monotonic() + _rest(thread_time() - begun)

    def repaint_now(self) -> None:
        """Paint now, also if nothing has happened in the run."""
        self._painted, self._rests_until = (), 0.0
        if self.view_model is not None and self.is_mounted:
            self.show_view_model(self.view_model)

    @property
    def cell_context(self) -> CellContext:
        """The circumstances in which cells are rendered now."""
        assert self.view_model is not None
        return CellContext(self.is_ascii, self.view_model.now)

    def build_rows(self, rows: Mapping[str, T], build_row: Callable[[T, CellContext], Row]) -> Iterator[Row]:
        """Return the rows of a table, by key, built anew only where they differ: of thousands most have not changed."""
        built: dict[str, tuple[object, Row]] = {}
        for key, row in rows.items():
            is_same = key in self._built and self._built[key][0] == row
            built[key] = self._built[key] if is_same else (row, build_row(row, self.cell_context))
        self._built = built
        return map(itemgetter(1), built.values())

    def catch_up(self, tail: EventBackfill[T], view_model: ViewModel, take: Callable[[list[T]], object]) -> None:
        """Hand over what is new: at once, or in a worker if the journal has to be read."""
        if tail.is_reading:
            return
        new = tail.take_newest(view_model)
        if new is not None:
            take(new)
        else:
            tail.is_reading = True
            self.run_worker(self._read_until(tail, view_model, take), group="tail", exit_on_error=False)

    async def _read_until(
        self, tail: EventBackfill[T], view_model: ViewModel, take: Callable[[list[T]], object]
    ) -> None:
        try:
            while tail.seq < view_model.seq:
                take(await tail.read_block(view_model.directory.journal, view_model.seq))
        finally:
            tail.is_reading = False
        self.repaint_now()

    def filter_rows(self, rows: Iterable[R]) -> list[R]:
        """Return the rows that fit the filter, and count all of them."""
        self.total_count = 0
        fit = []
        for row in rows:
            self.total_count += 1
            if self.active_filter.matches_row(row.get_filter_values()):
                fit.append(row)
        return fit

    def get_empty_text(self, text: str) -> str:
        """Return the text of a table without rows: the filter may be the reason."""
        return NO_FIT if self.active_filter.text else text

    def apply_filter(self, wanted: RowFilter) -> None:
        """Show only what fits a filter from now on."""
        self.active_filter = wanted
        self.repaint_now()

    def on_resize(self) -> None:
        """Paint for another size."""
        self.repaint_now()

    def find_subject(self, key: str) -> Subject | None:
        """Return what a row of the table stands for; None if it is nothing that can be acted on."""

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The subjects of the marked rows, else that of the one with the cursor."""
        return list(filter(None, map(self.find_subject, self.table.selected_keys)))

    def on_table_row_opened(self, event: Table.RowOpened) -> None:
        """Open a row of the table."""
        if event.key is not None:
            self.open_row(event.key)

    def open_row(self, key: str) -> None:
        """Request the detail view of what a row stands for."""
        if subject := self.find_subject(key):
            self.post_message(self.OpenRequested(subject))

    @property
    def status_text(self) -> str:
        """The number of the table's rows that fit the filter, of all, as `3 of 16`; empty without a filter."""
        return f"{len(self.table.rows)} of {self.total_count}" * bool(self.active_filter.text)


def _rest(work_s: float) -> float:
    return max(work_s * _REST, min(work_s * _SHORT_REST, _SHORT_S))


def format_nonzero(number: int, prefix: str = "") -> str:
    """Return a number with its prefix; empty for 0."""
    return f"{prefix}{number}" * bool(number)


def render_failures(count: int) -> Cell:
    """Return a number of failures; empty for 0."""
    return (format_nonzero(count), "state-fail")


def render_bar(label: str, done: int, total: int, cells: int, *, is_ascii: bool) -> list[Span]:
    """Return a label and a bar of so many cells; nothing is done of nothing."""
    glyphs = get_glyphs(is_ascii)
    full = done * cells // max(total, 1)
    return [(label, ""), (glyphs.full * full, "state-done"), (glyphs.empty * (cells - full), "dim")]


def _render_activity(row: Any, context: CellContext) -> Cell:  # noqa: ANN401 -- any row with an activity
    return (row.activity.render_label(context.is_ascii), row.activity.style)


def _render_age(row: Any, context: CellContext) -> Cell:  # noqa: ANN401 -- any row with a time
    if row.at is None:
        return ""
    return format_short_duration(max((context.now - row.at).total_seconds(), 0.0))


STATE_COLUMN = Column("state", "STATE", 9, cell=_render_activity)
AGE_COLUMN = Column("age", "AGE", 6, priority=5, to_the_right=True, cell=_render_age)
