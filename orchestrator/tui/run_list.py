"""The list of all runs, from which one is opened; whoever leaves that comes back to the list."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from orchestrator.report.runs.model import RunEntry
from orchestrator.tui.rows.run_columns import RUN_COLUMNS, build_run_row, format_runs_title, is_asking
from orchestrator.tui.settings import DEFAULT_SETTINGS, DashboardSettings
from orchestrator.tui.terminal.line_filters import AsciiFilter, ControlCharacterFilter
from orchestrator.tui.theme import COLOUR_SCHEMES, get_theme_style
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.table import Row, Table

EntryReader = Callable[[], Sequence[RunEntry]]
"""A function that returns all runs, the latest first. It blocks, so it is called in a thread."""
_READ_S = 2.0
_KEYS = [("enter", "key"), (" open  ", "dim"), ("w", "key"), (" only what waits for you  ", "dim")]
_LEAVING = [("q", "key"), (" leave", "dim")]


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
        self,
        read: EntryReader,
        settings: DashboardSettings = DEFAULT_SETTINGS,
        cursor: str | None = None,
        first: Sequence[RunEntry] = (),
        total: int = 0,
    ) -> None:
        """Show what `read` returns, with the cursor on the run of this place.

        `first` are the latest runs of `total`, which are shown until all have been read.
        """
        super().__init__()
        self._read, self._cursor = read, cursor
        self._entries = {entry.place: entry for entry in first}
        self._total, self._is_whole = total, False
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

    @property
    def entries(self) -> Sequence[RunEntry]:
        """The runs that were read last."""
        return list(self._entries.values())

    def compose(self) -> ComposeResult:
        """Build the list."""
        yield StyledLine(id="head")
        yield Table(RUN_COLUMNS, empty="reading runs …")
        yield StyledLine(id="keys")

    def on_mount(self) -> None:
        """Begin to read."""
        self.query_one("#keys", StyledLine).show_spans([*_KEYS, *_LEAVING])
        self.query_one(Table).focus()
        if self._entries:
            self._show_entries()
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
        from anyio import to_thread  # the first runs are shown without it

        entries = await to_thread.run_sync(self._read)
        self._entries = {entry.place: entry for entry in entries}
        self._total, self._is_whole = len(entries), True
        if self.is_running:  # whoever leaves while runs are read has no table any more
            self._show_entries()

    def _show_entries(self) -> None:
        table, rows, waiting = self.query_one(Table), list[Row](), 0
        for entry in self._entries.values():
            asks = is_asking(entry)
            waiting += asks
            if asks or not self._only_waiting:
                rows.append(build_run_row(entry, is_ascii=self._is_ascii))
        table.set_empty_text("no run asks anything" if self._only_waiting else "no run is known")
        table.show_rows(rows)
        if self._cursor is not None and not table.is_cursor_placed:
            table.move_to(self._cursor)
        words = format_runs_title(self._total, waiting if self._is_whole else None)
        self.query_one("#head", StyledLine).show_spans([(words, "title")])
