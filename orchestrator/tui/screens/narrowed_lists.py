"""Lists over the dashboard that typing narrows: the command palette, and all keys."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from orchestrator.errors import OrchestrateError
from orchestrator.tui.keymap import HelpRow
from orchestrator.tui.widgets.styled_line import StyledLine
from orchestrator.tui.widgets.table import Column, Row, Table

_COMMAND_COLUMNS = (Column("verb", "COMMAND", 24), Column("words", "WHAT IT DOES", 40, grows=True))
_KEY_COLUMNS = (
    Column("key", "KEY", 12),
    Column("words", "WHAT IT DOES", 36, grows=True),
    Column("command", "THE SAME ON THE COMMAND LINE", 36, priority=1),
)


class NarrowedList(ModalScreen[None]):
    """A table of what fits the text of an input, which keeps the focus while the table is scrolled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def list_rows(self, text: str) -> Iterator[Row]:
        """Yield the rows that fit what was typed."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Show all rows."""
        self._fill("")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only rows that fit."""
        self._fill(event.value)

    def action_move(self, by: int) -> None:
        """Move among the rows that fit."""
        self.query_one(Table).action_move(by)

    def _fill(self, text: str) -> None:
        self.query_one(Table).show_rows(self.list_rows(text))


class CommandPaletteScreen(NarrowedList):
    """Type a command; `run` carries it out, and what is wrong with it is said below it, so that it can be mended."""

    DEFAULT_CSS = """
    CommandPaletteScreen { align: center bottom; }
    CommandPaletteScreen > Vertical { width: 100%; height: auto; max-height: 60%; background: $panel; }
    CommandPaletteScreen Table { height: auto; max-height: 12; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "dismiss", show=False),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(self, verbs: Mapping[str, str], run: Callable[[str], None]) -> None:
        """`verbs` are the commands with what they do. `run` raises OrchestrateError for what cannot be done."""
        super().__init__()
        self._verbs, self._run = verbs, run

    def compose(self) -> ComposeResult:
        """Build the list, a line for a problem, and the input."""
        with Vertical():
            yield Table(_COMMAND_COLUMNS)
            yield StyledLine()
            yield Input(placeholder=": a command; tab completes, esc goes back", compact=True)

    def list_rows(self, text: str) -> Iterator[Row]:
        """Yield the commands that fit."""
        self.query_one(StyledLine).show_spans([])
        word, _, rest = text.strip().removeprefix(":").lstrip().partition(" ")
        for verb, words in self._verbs.items():
            if verb == word or (not rest and verb.startswith(word)):
                yield Row(verb, {"verb": (verb, "key"), "words": words})

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

    def action_complete(self) -> None:
        """Put the command with the cursor into the input."""
        if (verb := self.query_one(Table).cursor) is not None:
            box = self.query_one(Input)
            box.value = f"{verb} "
            box.action_end()

    def on_table_row_opened(self, event: Table.RowOpened) -> None:
        """Put a double-clicked command into the input."""
        self.action_complete()


class KeyHelp(NarrowedList):
    """The list of all keys, each with the command that does the same."""

    DEFAULT_CSS = """
    KeyHelp { align: center middle; }
    KeyHelp > Vertical { width: 110; max-width: 100%; height: 80%; max-height: 100%; background: $panel; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,f1", "dismiss", "back", show=False)]

    def __init__(self, rows: Sequence[HelpRow]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Build the search input and the list."""
        with Vertical():
            yield StyledLine(id="title")
            yield Input(placeholder="type to search; esc goes back", compact=True)
            yield Table(_KEY_COLUMNS, empty="no key does that")

    def on_mount(self) -> None:
        """Show the title; the rows are shown by the base."""
        self.query_one(StyledLine).show_spans([("Keys", "title"), ("  remapped by [tui.keys] in config.toml", "dim")])

    def list_rows(self, text: str) -> Iterator[Row]:
        """Yield the keys with all the words that were typed."""
        words = text.lower().split()
        for number, row in enumerate(self._rows):
            if all(map(row.text.__contains__, words)):
                yield Row(str(number), {"key": (row.key, "key"), "words": row.words, "command": (row.command, "dim")})
