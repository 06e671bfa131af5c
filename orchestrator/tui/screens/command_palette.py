"""The command palette: a line for the command line's own words, with those that fit below it."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from orchestrator.errors import OrchestrateError
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.table import Column, Row, Table

_COLUMNS = (Column("verb", "COMMAND", 24), Column("words", "WHAT IT DOES", 40, grows=True))


class CommandPaletteScreen(ModalScreen[None]):
    """Type a command; `run` carries it out, and what is wrong with it is said below it, so that it can be mended."""

    DEFAULT_CSS = """
    CommandPaletteScreen { align: center bottom; }
    CommandPaletteScreen > Vertical { width: 100%; height: auto; max-height: 60%; background: $panel; }
    CommandPaletteScreen Table { height: auto; max-height: 12; }
    CommandPaletteScreen Input { height: 1; border: none; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "dismiss", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(self, verbs: Mapping[str, str], run: Callable[[str], None]) -> None:
        """`verbs` are the commands with what they do. `run` raises OrchestrateError for what cannot be done."""
        super().__init__()
        self._verbs, self._run = verbs, run

    def compose(self) -> ComposeResult:
        """Build the list, a line for a problem, and the input."""
        with Vertical():
            yield Table(_COLUMNS)
            yield StyledLine()
            yield Input(placeholder=": a command; tab completes, esc goes back", compact=True)

    def on_mount(self) -> None:
        """Show all commands."""
        self._fill("")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only commands that fit."""
        self._fill(event.value)
        self.query_one(StyledLine).show_spans([])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the command."""
        text = event.value.strip().removeprefix(":").strip() or self.query_one(Table).cursor or ""
        try:
            self._run(text)
        except OrchestrateError as problem:
            self.query_one(StyledLine).show_spans([(str(problem), "warn")])
            return
        if self.is_current:
            self.dismiss()

    def action_move(self, by: int) -> None:
        """Move the cursor among the commands that fit."""
        self.query_one(Table).action_move(by)

    def action_complete(self) -> None:
        """Put the command with the cursor into the input."""
        if (verb := self.query_one(Table).cursor) is not None:
            box = self.query_one(Input)
            box.value = f"{verb} "
            box.action_end()

    def on_table_row_opened(self, event: Table.RowOpened) -> None:
        """Put a double-clicked command into the input."""
        self.action_complete()

    def _fill(self, text: str) -> None:
        word, _, rest = text.strip().removeprefix(":").lstrip().partition(" ")
        rows = []
        for verb, words in self._verbs.items():
            if verb == word or (not rest and verb.startswith(word)):
                rows.append(Row(verb, {"verb": (verb, "key"), "words": words}))
        self.query_one(Table).show_rows(rows)
