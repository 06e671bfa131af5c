"""The data of a dashboard at one time: a run's state, what only watchers need, and what actions are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.log.last_event import LastSessionEvent
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.fleet import build_fleet_rows

SubjectKind = Literal["session", "task", "unit", "approval", "file", "shard", "event", "run"]


@dataclass(frozen=True)
class Subject:
    """The thing that an action is about: `id` is a session, a task, a unit, an approval's item, a path, a shard."""

    kind: SubjectKind
    id: str
    title: str = ""

    @property
    def label(self) -> str:
        """Its title, or else its id."""
        return self.title or self.id


__all__ = ["Connection", "LastSessionEvent", "ViewModel"]


class Connection(StrEnum):
    """The origin of the data: an engine at work, one that gives no sign, none, a run's end, or a recording."""

    LIVE = "live"
    STALE = "stale"
    IDLE = "no process"
    ENDED = "ended"
    REPLAY = "replay"


@dataclass(frozen=True)
class ViewModel:
    """One look at a run. All of it changes in the dashboard's own thread only; views read it and keep nothing of it.

    `recent` are the newest events, oldest first, of which there are at most a few thousand; `seq` is the last event
    that is known. `now` is aware UTC; in a replay it is the recording's time. `problem` says what keeps the dashboard
    from knowing more, and how to mend it; it is empty if nothing does.
    """

    directory: RunDirectory
    state: RunState
    now: datetime
    connection: Connection
    seq: int = 0
    stale_s: float = 0.0
    last_session_events: Mapping[SessionId, LastSessionEvent] = field(default_factory=dict)
    recent: Sequence[RecordedEvent] = ()
    is_read_only: bool = False
    problem: str = ""

    def build_fleet_rows(self, *, is_whole: bool) -> list[AgentRow]:
        """Return the rows of the fleet; without `is_whole`, files at rest are counted."""
        state, events, now = self.state, self.last_session_events, self.now
        return build_fleet_rows(state, events, now, is_at_work=self.is_at_work, is_whole=is_whole)

    @property
    def is_at_work(self) -> bool:
        """True if an engine works on the run, or did at the time that is shown."""
        return self.connection in {Connection.LIVE, Connection.STALE, Connection.REPLAY}
