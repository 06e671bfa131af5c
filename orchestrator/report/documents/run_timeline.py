"""Collect from a journal what a report needs and the state does not hold: times of attempts, and what was said."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent, work
from orchestrator.domain.event.run import EngineStarted
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.report.log.event_lines import render_event_line

_EXCERPT_LINES = 24
_EXCERPT_CHARS = 240


@dataclass
class WorkInterval:
    """Work at a task: an attempt, or a planner's round; `end` is None as long as it goes on."""

    task: TaskId
    name: str
    is_planning: bool
    begin: datetime
    end: datetime | None = None


class RunTimeline:
    """Collects from a journal. `excerpts` are the last lines of each conversation, `left_out` how many came before."""

    KINDS: ClassVar = (
        "attempt.started",
        "attempt.ended",
        "planning.started",
        "planning.ended",
        "engine.started",
        "model.replied",
        "tool.returned",
    )

    def __init__(self) -> None:
        self.intervals: list[WorkInterval] = []
        self.versions: dict[str, None] = {}
        self.excerpts: dict[SessionId, deque[str]] = {}
        self.left_out: dict[SessionId, int] = {}
        self._open: dict[TaskId, WorkInterval] = {}

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            match recorded.event:
                case work.AttemptStarted() as event:
                    self._begin_interval(recorded, f"attempt {event.attempt.number}", is_planning=False)
                case work.PlanningStarted() as event:
                    self._begin_interval(recorded, f"planning, round {event.round}", is_planning=True)
                case work.AttemptEnded() | work.PlanningEnded():
                    self._end_interval(recorded)
                case EngineStarted() as event:
                    self.versions[event.version] = None
                case work.ModelReplied() | work.ToolReturned() as event:
                    self._add_line(event.session, recorded)
                case _:
                    pass

    def _begin_interval(self, recorded: RecordedEvent, name: str, *, is_planning: bool) -> None:
        self._end_interval(recorded)  # of what an engine left open when it died
        if (task := recorded.event.task) is not None:
            self._open[task] = WorkInterval(task, name, is_planning, recorded.at)
            self.intervals.append(self._open[task])

    def _end_interval(self, recorded: RecordedEvent) -> None:
        if recorded.event.task in self._open:
            self._open.pop(recorded.event.task).end = recorded.at

    def _add_line(self, session: SessionId, recorded: RecordedEvent) -> None:
        lines = self.excerpts.setdefault(session, deque(maxlen=_EXCERPT_LINES))
        if len(lines) == _EXCERPT_LINES:
            self.left_out[session] = self.left_out.get(session, 0) + 1
        line = render_event_line(recorded)
        if len(line) > _EXCERPT_CHARS:
            line = f"{line[:_EXCERPT_CHARS]}…"
        lines.append(line)
