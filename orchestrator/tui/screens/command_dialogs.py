"""Questions: a note, a yes, a yes that has to be typed, how to leave. Esc: nothing is done."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from orchestrator.domain.text.listing import limit_lines
from orchestrator.tui.widgets.styled_line import Spans, StyledLine

_CSS = """
    {name} { align: center middle; }
    {name} > Vertical { width: 76; max-width: 100%; height: auto; max-height: 100%; background: $panel; padding: 1 2; }
    {name} Input { background: $background; }
"""
_SHOWN = 8
_NOTHING = (("esc", "key"), (" does nothing", "dim"))


class NoteDialog(ModalScreen[str | None]):
    """Asks for a line of words: what the worker, or whoever asked, is to know. None if nothing is to be done."""

    DEFAULT_CSS = _CSS.replace("{name}", "NoteDialog")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, title: str, *, is_required: bool = False) -> None:
        super().__init__()
        self._title, self._is_required = title, is_required

    def compose(self) -> ComposeResult:
        """Build the question and its answer."""
        with Vertical():
            yield StyledLine(id="title")
            yield Input(compact=True)
            yield StyledLine(id="hint")

    def on_mount(self) -> None:
        """Show the question."""
        self.query_one("#title", StyledLine).show_spans([(self._title, "title")])
        self._hint([("enter", "key"), (" goes on", "dim"), (";  ", ""), *_NOTHING])
        self.query_one(Input).focus()

    def _hint(self, spans: Spans) -> None:
        self.query_one("#hint", StyledLine).show_spans(spans)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the note."""
        if self._is_required and not event.value.strip():
            self._hint([("some words are needed here", "warn"), (";  ", ""), *_NOTHING])
        else:
            self.dismiss(event.value.strip())


class ConfirmationDialog(ModalScreen[bool]):
    """Asks whether something is really to be done; of more than one thing, how many there are has to be typed."""

    DEFAULT_CSS = _CSS.replace("{name}", "ConfirmationDialog")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", show=False),
        Binding("y", "yes", show=False),
        Binding("n", "no", show=False),
    ]

    def __init__(self, deeds: Sequence[str], count: int) -> None:
        """`deeds` are to be done, in words, to `count` things."""
        super().__init__()
        self._deeds, self._count, self._is_typed = limit_lines(deeds, _SHOWN), count, count > 1

    def compose(self) -> ComposeResult:
        """Build the list of commands and the answer."""
        with Vertical():
            yield StyledLine(id="title")
            for _ in self._deeds:
                yield StyledLine(classes="deed")
            if self._is_typed:
                yield Input(compact=True)
            yield StyledLine(id="hint")

    def on_mount(self) -> None:
        """Show the question."""
        self.query_one("#title", StyledLine).show_spans([("Really do this?", "title")])
        for line, words in zip(self.query(".deed").results(StyledLine), self._deeds, strict=True):
            line.show_spans([("  ", ""), (words, "warn")])
        hint = [("y", "key"), (" does it", "dim")]
        if self._is_typed:
            hint = [("type ", "dim"), (str(self._count), "key"), (" and enter to do it to all of them", "dim")]
            self.query_one(Input).focus()
        self.query_one("#hint", StyledLine).show_spans([*hint, (";  ", ""), *_NOTHING])

    def action_yes(self) -> None:
        """Confirm, where one key is enough."""
        if not self._is_typed:
            self.dismiss(True)

    def action_no(self) -> None:
        """Cancel."""
        self.dismiss(False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirm if the number is right."""
        if event.value.strip() == str(self._count):
            self.dismiss(True)
        else:
            event.input.value = ""


LeaveChoice = Literal["detach", "drain", "stop"]
_WAYS: dict[LeaveChoice, str] = {
    "detach": "d  Detach      leave; the run goes on without you",
    "drain": "r  Drain       what runs is finished, nothing new begins; leave",
    "stop": "s  Stop now    what runs is broken off; `orchestrate resume` goes on; leave",
}


class LeaveDialog(ModalScreen[LeaveChoice | None]):
    """Detach, drain or stop now; esc stays. Where one may only look there is nothing but to detach."""

    DEFAULT_CSS = """
    LeaveDialog { align: center middle; }
    LeaveDialog > Vertical { width: 76; max-width: 100%; height: auto; background: $panel; padding: 1 2; }
    LeaveDialog OptionList { height: auto; min-width: 8; border: none; background: $panel; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("d", "leave('detach')", show=False),
        Binding("r", "leave('drain')", show=False),
        Binding("s", "leave('stop')", show=False),
    ]

    def __init__(self, *, may_stop: bool) -> None:
        super().__init__()
        self._ways: list[LeaveChoice] = list(_WAYS) if may_stop else ["detach"]

    def compose(self) -> ComposeResult:
        """Build the question and its answers."""
        with Vertical():
            yield StyledLine()
            yield OptionList(*(Option(Text(_WAYS[way]), id=way) for way in self._ways))

    def on_mount(self) -> None:
        """Show the question."""
        self.query_one(StyledLine).show_spans([("Leave the dashboard how?", "title"), ("  esc stays", "dim")])
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen way."""
        self.action_leave(self._ways[event.option_index])

    def action_leave(self, way: LeaveChoice) -> None:
        """Return this way, if it is offered."""
        if way in self._ways:
            self.dismiss(way)
