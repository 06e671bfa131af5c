"""Events as lines of a log that can be narrowed by level, role and task: the words are those of `report.lines`."""

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

from orchestrator.domain.event import Event, RecordedEvent, forge, landing, migration, run, work
from orchestrator.domain.ids import parse_session_role, parse_unit_task
from orchestrator.domain.judging.forge_check import list_check_names
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.log.event_descriptions import describe_event
from orchestrator.report.log.event_lines import DETAIL_KINDS
from orchestrator.report.rows.row_filter import FilterValue

LOG_KEYS = ("level", "kind", "role", "task", "session", "text", "seq")
"""The fields that filters of a log can name."""
_CHARS = 2_000


class LogLevel(IntEnum):
    """The importance of an event: details are shown by `logs --all` only."""

    DETAIL = 0
    INFO = 1
    WARNING = 2

    @property
    def word(self) -> str:
        """The name in filters."""
        return self.name.lower()


class LogRow(NamedTuple):
    """One event. There may be very many of them, so they are small."""

    seq: int
    at: datetime
    level: LogLevel
    kind: str
    role: str
    task: str
    session: str
    text: str

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        values = self._asdict() | {"level": self.level.word, "seq": float(self.seq)}
        del values["at"]
        return values


def build_log_row(recorded: RecordedEvent) -> LogRow:
    """Return an event as a row, without control characters."""
    event = recorded.event
    session = str(getattr(event, "session", "") or "")
    text = strip_controls(describe_event(event)[:_CHARS]).replace("\n", " ⏎ ")
    return LogRow(
        seq=recorded.seq,
        at=recorded.at,
        level=get_log_level(event),
        kind=event.kind,
        role=str(getattr(event, "role", "") or parse_session_role(session)),
        task=_task(event),
        session=session,
        text=text,
    )


def get_log_level(event: Event) -> LogLevel:
    """Return the level of an event; a warning is what did not go as it was wanted."""
    if event.kind in DETAIL_KINDS:
        return LogLevel.DETAIL
    return LogLevel.WARNING if _is_warning(event) else LogLevel.INFO


def _is_warning(event: Event) -> bool:
    match event:
        case run.Noticed(level="warning") | work.ToolReturned(ok=False):
            return True
        case forge.ChecksSeen():
            return bool(list_check_names(event.checks, "failed"))
        case work.TaskEnded():
            return not event.status.is_reached
        case work.VerdictGiven():
            return event.verdict.kind != "merge"
        case landing.TrialJudged():
            return not event.difference.is_green
        case migration.FileMoved():
            return event.status.is_failed or event.status.is_left_over
        case run.RunEnded():
            return event.exit != 0
    return isinstance(event, _WARNINGS)


_WARNINGS = (
    *(work.ModelFailed, work.PlanRefused, run.RunPaused, run.FlakesSeen),
    *(landing.UnitEjected, migration.RollbackRefused, migration.ShardReverted),
)


def _task(event: Event) -> str:
    """Return the task, the file or the task of the unit that an event is about."""
    if event.task:
        return event.task
    if isinstance(event, landing.UnitEjected):
        return parse_unit_task(event.unit) or event.unit
    return str(getattr(event, "path", ""))
