"""The list of all runs, from which one is opened; whoever leaves that comes back to the list."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import ClassVar

from anyio import to_thread
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import format_count
from orchestrator.report.run.condition import RunCondition
from orchestrator.report.runs.model import RunEntry
from orchestrator.report.runs.rendering import describe_goal, describe_state, get_shown_name
from orchestrator.tui.settings import DEFAULT_SETTINGS, DashboardSettings
from orchestrator.tui.terminal.line_filters import AsciiFilter, ControlCharacterFilter
from orchestrator.tui.theme import COLOUR_SCHEMES, get_theme_style
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.styled_text import Cell
from orchestrator.tui.widgets.table import CellContext, Column, Row, Table, build_row

EntryReader = Callable[[], Sequence[RunEntry]]
"""A function that returns all runs, the latest first. It blocks, so it is called in a thread."""
_READ_S = 2.0
_KEYS = [("enter", "key"), (" open  ", "dim"), ("w", "key"), (" only what waits for you  ", "dim")]
_LEAVING = [("q", "key"), (" leave", "dim")]
_STYLES = {RunCondition.RUNNING: "run", RunCondition.PAUSED: "pause", RunCondition.STOPPED: "stop", "done": "done"}


def _show_repository(entry: RunEntry, _context: CellContext) -> Cell:
    return PurePath(entry.summary.repository).name if entry.summary else ""


def _show_age(entry: RunEntry, context: CellContext) -> Cell:
    if entry.summary is None:
        return ""
    return format_short_duration((context.now - entry.summary.started_at).total_seconds())


def _show_state(entry: RunEntry, _context: CellContext) -> Cell:
    return describe_state(entry.word, entry.summary) if entry.summary else entry.word


def _show_done(entry: RunEntry, _context: CellContext) -> Cell:
    return f"{entry.summary.done}/{entry.summary.total}" if entry.summary else ""


def _show_cost(entry: RunEntry, _context: CellContext) -> Cell:
    return entry.summary.cost.price if entry.summary else ""


def _show_goal(entry: RunEntry, _context: CellContext) -> Cell:
    return describe_goal(entry.summary) if entry.summary else entry.problem


_COLUMNS = (
    Column("run", "Run", 20, cell=lambda entry, _context: get_shown_name(entry)),
    Column("repository", "Repository", 16, priority=1, cell=_show_repository),
    Column("state", "State", 16, cell=_show_state),
    Column("age", "Age", 6, priority=2, cell=_show_age),
    Column("done", "Done", 7, priority=3, cell=_show_done),
    Column("cost", "Cost", 10, priority=4, cell=_show_cost),
    Column("goal", "Goal", 20, priority=5, grows=True, cell=_show_goal),
)


class RunList(App[RunEntry]):
    """The list of all runs. Its result is the run that was opened; None if somebody left."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: $background; color: $foreground; }
    #head, #keys { background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "leave", "Leave", show=False, priority=True),
        Binding("w", "show_waiting", "Only what waits", show=False),
    ]

    def __init__(
        self, read: EntryReader, settings: DashboardSettings = DEFAULT_SETTINGS, cursor: str | None = None
    ) -> None:
        """Show what `read` returns, with the cursor on the run of this place."""
        super().__init__()
        self._read, self._cursor = read, cursor
        self._entries: dict[str, RunEntry] = {}
        self._only_waiting = False
        self._line_filters: list[LineFilter] = [ControlCharacterFilter()]
        self._is_ascii = settings.is_ascii
        if settings.is_ascii:
            self._line_filters.append(AsciiFilter())
        for palette in COLOUR_SCHEMES.values():
            self.register_theme(palette.build_theme())
        self.theme = settings.theme
        if not settings.has_animations:
            self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """Build the list."""
        yield StyledLine(id="head")
        yield Table(_COLUMNS, empty="reading runs …")
        yield StyledLine(id="keys")

    def on_mount(self) -> None:
        """Begin to read."""
        self.query_one("#keys", StyledLine).show_spans([*_KEYS, *_LEAVING])
        self.query_one(Table).focus()
        self.run_worker(self._read_entries(), exclusive=True)
        self.set_interval(_READ_S, lambda: self.run_worker(self._read_entries(), exclusive=True))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that every line passes before it is drawn."""
        return [*super().get_line_filters(), *self._line_filters]

    def get_style(self, name: str) -> Style:
        """Return a style of the present theme by its name."""
        return get_theme_style(name, self.theme)

    def action_leave(self) -> None:
        """Leave; the runs go on."""
        self.exit(None)

    def action_show_waiting(self) -> None:
        """Show only runs that ask something, or all again."""
        self._only_waiting = not self._only_waiting
        self._show_entries()

    def on_table_row_opened(self, opened: Table.RowOpened) -> None:
        """Leave with the run that was opened."""
        if opened.key in self._entries:
            self.exit(self._entries[opened.key])

    async def _read_entries(self) -> None:
        entries = await to_thread.run_sync(self._read)
        self._entries = {entry.place: entry for entry in entries}
        self._show_entries()

    def _show_entries(self) -> None:
        table, context = self.query_one(Table), CellContext(self._is_ascii, datetime.now(UTC))
        rows, waiting = list[Row](), 0
        for place, entry in self._entries.items():
            asks = entry.summary is not None and entry.summary.questions_open > 0
            waiting += asks
            if asks or not self._only_waiting:
                rows.append(build_row(place, entry, _COLUMNS, context, "ask" if asks else _STYLES.get(entry.word, "")))
        table.set_empty_text("no run asks anything" if self._only_waiting else "no run is known")
        table.show_rows(rows)
        if self._cursor is not None and not table.is_cursor_placed:
            table.move_to(self._cursor)
        words = f"Runs  {format_count(len(self._entries), 'run')}, {waiting} ask you something"
        self.query_one("#head", StyledLine).show_spans([(words, "title")])
