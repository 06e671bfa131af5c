"""Dashboards in tests: on a journal that stands still, with the words on their screens."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from textual.pilot import Pilot

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.log.last_event import LastSessionEvent, find_last_session_event
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.view_model import Connection, ViewModel

SIZES = [(80, 24), (120, 30), (200, 60), (40, 12)]
_PATIENCE_S = 120.0


class Shown:
    """A journal as it is, with a clock that stands some time after its last event."""

    problem = ""
    replay: PlaybackClock | None = None

    def __init__(self, directory: RunDirectory, connection: Connection = Connection.LIVE, after_s: float = 1.0) -> None:
        self.directory, self.connection, self._after = directory, connection, timedelta(seconds=after_s)
        self._state, self._heard = RunState(), dict[SessionId, list[RecordedEvent]]()
        self._at = datetime.now(UTC)

    def start(self) -> None:
        """Read all there is."""
        self.read_on()

    def read_on(self) -> None:
        """Read what was added since."""
        for recorded in read_all_events(self.directory.journal):
            if recorded.seq > self._state.seq:
                apply_recorded_event(self._state, recorded)
                self._at = recorded.at
                if (session := getattr(recorded.event, "session", None)) is not None:
                    self._heard.setdefault(session, []).append(recorded)

    def get_view_model(self) -> ViewModel:
        """The run as it was read."""
        now = self._at + self._after
        return ViewModel(
            self.directory, self._state, now, self.connection, self._state.seq, last_session_events=self._seen()
        )

    def _seen(self) -> Mapping[SessionId, LastSessionEvent]:
        found = {session: find_last_session_event(events[-6:]) for session, events in self._heard.items()}
        return {session: seen for session, seen in found.items() if seen is not None}

    async def fold_until_closed(self) -> None:
        """Nothing comes by itself."""

    def close(self) -> None:
        """Nothing is open."""


def _refuse(command: Command) -> str:
    raise UsageProblem(f"{command.do} is not to be sent")


NOWHERE = DashboardActions(_refuse, lambda: None, lambda _path: None, lambda _path: None)
"""Doors that lead nowhere."""


def dashboard(source: Shown) -> Dashboard:
    """A dashboard that can do nothing."""
    return Dashboard(source, NOWHERE)


def screen(app: Dashboard) -> list[str]:
    """The words on each line of the screen."""
    size = app.screen.size
    return [
        "".join(segment.text for segment in strip).rstrip()
        for strip in app.screen._compositor.render_strips(size)  # the one place where a whole screen is put together
    ]


async def until(pilot: Pilot[None], is_so: Callable[[], object]) -> None:
    """Let the dashboard go on until something is so."""
    end = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, "\n".join(screen(pilot.app))  # type: ignore[arg-type]
        await pilot.pause(0.01)
