"""All keys in one list that can be searched, each with the command that does the same."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from orchestrator.tui.keymap import HelpRow
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.styled_text import Cell
from orchestrator.tui.widgets.table import Column, Row, Table

_COLUMNS = (
    Column("key", "KEY", 12),
    Column("words", "WHAT IT DOES", 36, grows=True),
    Column("command", "THE SAME ON THE COMMAND LINE", 36, priority=1),
)


class KeyHelp(ModalScreen[None]):
    """The list of all keys; typing narrows it."""

    DEFAULT_CSS = """
    KeyHelp { align: center middle; }
    KeyHelp > Vertical { width: 110; max-width: 100%; height: 80%; max-height: 100%; background: $panel; padding: 0 1; }
    KeyHelp Input { height: 1; border: none; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1", "dismiss", "back", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, rows: Sequence[HelpRow]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Build the search input and the list."""
        with Vertical():
            yield StyledLine(id="title")
            yield Input(placeholder="type to search; esc goes back", compact=True)
            yield Table(_COLUMNS, empty="no key does that")

    def on_mount(self) -> None:
        """Show all keys."""
        self.query_one(StyledLine).show_spans([("Keys", "title"), ("  remapped by [tui.keys] in config.toml", "dim")])
        self._fill("")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only rows with what was typed."""
        self._fill(event.value)

    def action_move(self, by: int) -> None:
        """Scroll the list while the input has the focus."""
        self.query_one(Table).action_move(by)

    def _fill(self, text: str) -> None:
        rows = []
        for number, row in enumerate(self._rows):
            if all(word in row.text for word in text.lower().split()):
                cells: dict[str, Cell] = {"key": (row.key, "key"), "words": row.words, "command": (row.command, "dim")}
                rows.append(Row(str(number), cells))
        self.query_one(Table).show_rows(rows)
