"""One view of the dashboard in an app of its own, shown moments by hand, and read as text."""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from textual import on
from textual.app import App, ComposeResult
from textual.filter import LineFilter
from textual.pilot import Pilot

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.terminal.line_filters import AsciiFilter
from orchestrator.tui.view_model import Connection, ViewModel
from orchestrator.tui.views.base_view import DashboardView, ThrottledView

SIZES = ((40, 12), (80, 24), (120, 30), (200, 60))
NOWHERE = RunDirectory(Path("/nonexistent"))


def moment_of(directory: RunDirectory, recent: int = 1_000) -> ViewModel:
    """A run as it ended, seen at its last event; `recent` of its newest events are at hand."""
    events = list(read_all_events(directory.journal))
    return ViewModel(
        directory,
        fold_events(events),
        events[-1].at,
        Connection.ENDED,
        events[-1].seq,
        recent=deque(events[-recent:] if recent else ()),
    )


def moment_told(state: RunState, now: datetime, events: Sequence[RecordedEvent] = ()) -> ViewModel:
    """A run that is nowhere on disk."""
    return ViewModel(NOWHERE, state, now, Connection.LIVE, state.seq, recent=events)


class Alone(App[None]):
    """A view and what it asked for."""

    def __init__(self, make: Callable[[], DashboardView], look: DashboardSettings | None = None) -> None:
        super().__init__()
        self._make = make
        self.settings = look or DashboardSettings()
        self.opened: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        """The view."""
        yield self._make()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """As the dashboard does."""
        return [*super().get_line_filters(), *([AsciiFilter()] if self.settings.is_ascii else [])]

    @property
    def view(self) -> DashboardView:
        """The view."""
        return self.screen_stack[0].query_one(DashboardView)

    @on(DashboardView.OpenRequested)
    def hear(self, message: DashboardView.OpenRequested) -> None:
        """Note it."""
        self.opened.append((message.subject.kind, message.subject.id))

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without what is blank at the ends of lines."""
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        """The same in one."""
        return "\n".join(self.lines)


async def shown(pilot: Pilot[None], app: Alone, moment: ViewModel) -> None:
    """Show a moment, with the keys where the view takes them, and wait until it is drawn."""
    app.view.show_view_model(moment)
    if isinstance(app.view, ThrottledView):
        app.view.repaint_now()  # also if it rests
    await app.workers.wait_for_complete()
    first = next((one for one in app.view.query("*") if one.focusable and one.display), None)
    if first is not None:
        first.focus()
    await pilot.pause()
