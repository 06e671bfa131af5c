"""Recorded runs for dashboards in tests: shown up to any event, with a clock that stands still."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

from textual.strip import Strip

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event import RecordedEvent, parse_event
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.rows.transcript import Transcript
from orchestrator.tui.rows.transcript_items import ReadBlob, TranscriptLevel
from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.settings import DEFAULT_SETTINGS, DashboardSettings
from orchestrator.tui.view_model import Connection, ViewModel
from tests.golden import DATA

SIZES = [(80, 24), (120, 30), (200, 60), (40, 12)]
IN_THE_MIDDLE = 120
"""An event of the recorded goal at which workers are at work."""


def render_transcript_lines(events: Iterable[RecordedEvent], read_blob: ReadBlob) -> Iterator[str]:
    """All lines of a conversation with all texts, each once."""
    lines = Transcript(read_blob, TranscriptLevel.VERBOSE, opens_all=True)
    lines.extend(events)
    return map(lines.get_line, range(len(lines)))


@cache
def kept(name: str) -> tuple[RecordedEvent, ...]:
    """The events of a recorded run: `goal.v2` or `migration.v1`."""
    rows = [json.loads(line) for line in (DATA / "journals" / f"{name}.jsonl").read_text().splitlines()]
    return tuple(
        RecordedEvent(seq, datetime.fromisoformat(at), parse_event(kind, version, json.dumps(body)))
        for seq, at, kind, version, body, *_ in rows
    )


class Still:
    """A source that stands where it is put."""

    def __init__(
        self,
        events: Sequence[RecordedEvent],
        until: int = -1,
        connection: Connection = Connection.LIVE,
        directory: Path = Path("nowhere"),
    ) -> None:
        self.events, self.connection, self.is_closed = events, connection, False
        self.directory = RunDirectory(directory)
        self.stale_s = 0.0
        self.state = RunState()
        self.go_to(len(events) if until < 0 else until)

    def go_to(self, seq: int) -> None:
        """Have what happened up to this event be known; never back."""
        for recorded in self.events[self.state.seq : seq]:
            apply_recorded_event(self.state, recorded)

    replay: PlaybackClock | None = None
    problem = ""

    async def fold_until_closed(self) -> None:
        """There is nothing to take in."""

    def start(self) -> None:
        """Nothing is to be read."""

    def get_view_model(self) -> ViewModel:
        """The run at that event."""
        return ViewModel(
            self.directory,
            self.state,
            self.events[self.state.seq - 1].at,
            self.connection,
            self.state.seq,
            self.stale_s,
            recent=self.events[: self.state.seq],
        )

    def close(self) -> None:
        """Whoever shows it has gone."""
        self.is_closed = True


def stored(directory: RunDirectory) -> Still:
    """All that a journal holds, as if an engine were at work on it."""
    return Still(tuple(read_all_events(directory.journal)))


@dataclass
class Sent:
    """Doors that only note what goes out; with `refuses` nothing does."""

    refuses: bool = False
    commands: list[Command] = field(default_factory=list)
    woken: int = 0

    def send(self, command: Command) -> str:
        if self.refuses:
            raise EnvironmentProblem("cannot write the inbox: make it writable")
        self.commands.append(command)
        return f"key-{len(self.commands)}"

    def wake(self) -> None:
        self.woken += 1

    @property
    def doors(self) -> DashboardActions:
        return DashboardActions(self.send, self.wake, lambda path: None, lambda path: None)


def dashboard(
    source: Still | None = None, sent: Sent | None = None, look: DashboardSettings = DEFAULT_SETTINGS
) -> Dashboard:
    """A dashboard of the recorded goal in the middle of its run."""
    return Dashboard(source or Still(kept("goal.v2"), IN_THE_MIDDLE), (sent or Sent()).doors, look)


def strips(app: Dashboard) -> list[Strip]:
    """The lines of the screen as they are drawn."""
    return app.screen._compositor.render_strips()


def seen(app: Dashboard) -> list[str]:
    """The lines of the screen as words."""
    return [strip.text.rstrip() for strip in strips(app)]
