"""The question how to leave: only the dashboard, or the run as well."""

from typing import ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from orchestrator.tui.widgets.styled_line import StyledLine

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
