"""The line in which a filter is typed. It recalls the last one, and shows what comes of it while it is typed."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from orchestrator.tui.widgets.styled_line import StyledLine


class FilterBox(Horizontal):
    """`/`, what is typed, and what is wrong with it. Hidden until it is opened."""

    DEFAULT_CSS = """
    FilterBox { height: 1; display: none; }
    FilterBox.-open { display: block; }
    FilterBox > #slash { width: 2; }
    FilterBox > Input { width: 2fr; }
    FilterBox > #wrong { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "clear", "clear", show=False, id="tui.filter-clear")]

    class FilterChanged(Message):
        """The filter that is wanted now; `is_final` when it is typed to its end."""

        def __init__(self, text: str, *, is_final: bool) -> None:
            super().__init__()
            self.text, self.is_final = text, is_final

    def compose(self) -> ComposeResult:
        """Build a slash, the input, and room for a problem."""
        yield StyledLine(id="slash")
        yield Input(compact=True, select_on_focus=True)
        yield StyledLine(id="wrong")

    def on_mount(self) -> None:
        """Show the slash."""
        self.hide_box()
        self.query_one("#slash", StyledLine).show_spans([("/ ", "key")])

    @property
    def is_open(self) -> bool:
        """True while the box is open."""
        return self.has_class("-open")

    def open_with_text(self, text: str) -> None:
        """Open the box with this filter, which the first typed character replaces."""
        box = self.query_one(Input)
        with box.prevent(Input.Changed):
            box.value = text
        box.disabled = False
        self.add_class("-open")
        self.show_problem("")
        box.focus()
        if text:
            self.post_message(self.FilterChanged(text, is_final=False))

    def hide_box(self) -> None:
        """Hide the box."""
        self.remove_class("-open")
        self.query_one(Input).disabled = True  # else it might get the keys unseen

    def show_problem(self, wrong: str) -> None:
        """Show what is wrong with the filter; an empty text removes the message."""
        self.query_one("#wrong", StyledLine).show_spans([(f" {wrong}" * bool(wrong), "warn")])

    def on_input_changed(self, event: Input.Changed) -> None:
        """Report the filter after every character."""
        if self.is_open:
            self.post_message(self.FilterChanged(event.value, is_final=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Report the filter as entered."""
        self.post_message(self.FilterChanged(event.value, is_final=True))

    def action_clear(self) -> None:
        """Remove the filter and hide the box."""
        self.post_message(self.FilterChanged("", is_final=True))
