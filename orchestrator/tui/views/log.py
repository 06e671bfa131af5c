"""The log: everything that happened, in the words of `orchestrate logs`, narrowed by level, role, task or words."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from orchestrator.domain.event import Event, RecordedEvent, forge, landing, migration, run, work
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested
from orchestrator.domain.ids import QuestionId, parse_session_role, parse_unit_task
from orchestrator.domain.judging.forge_check import list_check_names
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.log.event_descriptions import describe_event_with_questions
from orchestrator.report.log.event_lines import DETAIL_KINDS
from orchestrator.report.rows.row_filter import FilterValue, RowFilter
from orchestrator.tui.rows.empty_screens import NO_LOG
from orchestrator.tui.run_feed.event_backfill import EventBackfill
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, ThrottledView
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell
from orchestrator.tui.widgets.text_pager import LazyLines, TextPager

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


def build_log_row(recorded: RecordedEvent, question_ids: Mapping[str, QuestionId] = {}) -> LogRow:
    """Return an event as a row, without control characters; `question_ids` are the short names of questions."""
    event = recorded.event
    session = str(getattr(event, "session", "") or "")
    text = strip_controls(describe_event_with_questions(event, question_ids)[:_CHARS]).replace("\n", " ⏎ ")
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


MAX_KEPT_EVENTS = 200_000
"""So many of the newest events are kept; `orchestrate logs` has all of them."""
_AT_ONCE = 3_000
_TASK = 24
_SOON_S = 1 / 100
_LEVELS = {LogLevel.DETAIL: "all events", LogLevel.INFO: "events", LogLevel.WARNING: "warnings"}
_STYLES = {LogLevel.DETAIL: "dim", LogLevel.INFO: "", LogLevel.WARNING: "bad"}


class LogView(ThrottledView):
    """All events of a run, the newest last."""

    TITLE = "Log"
    KEYS = (("v", "level"), ("F", "follow"), ("W", "fold"), ("V", "select"), ("y", "copy"))
    FIELDS = LOG_KEYS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "level", "How much is shown", show=False, id="log.level")]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: list[LogRow] = []
        self._fitting: list[LogRow] = []
        self._filtered_count = 0
        self._level = LogLevel.INFO
        self._tail: EventBackfill[LogRow] | None = None
        self._older: EventBackfill[LogRow] | None = None
        self._is_waiting = False
        self._anchor_seq: int | None = None
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Build one long text."""
        lines = LazyLines(lambda: len(self._fitting), lambda index: _render_row(self._fitting[index]))
        with Panel() as panel:
            panel.show_title([("Log", "title")])
            yield TextPager(lines, follow=True, empty=NO_LOG)

    @property
    def _lines(self) -> TextPager:
        return self.query_one(TextPager)

    # --- rows --------------------------------------------------------------------------------------------------------

    def paint_view(self, view_model: ViewModel) -> None:
        """Add what is new, and start to read what is older."""
        if self._tail is None or view_model.seq < self._tail.seq:  # another journal took its place, or it was repaired
            self._begin(view_model)
        if self._tail is not None:
            self.catch_up(self._tail, view_model, self._add_rows)

    def _begin(self, view_model: ViewModel) -> None:
        """Show the newest events at once, and start to read those before them."""
        for group in ("tail", "log-older"):
            self.workers.cancel_group(self, group)
        self._rows, self._older, self._problem = [], None, ""
        self._filter_all()
        first = view_model.recent[0].seq if view_model.recent else max(view_model.seq - MAX_KEPT_EVENTS, 0) + 1
        self._tail = EventBackfill(self._build_row, after=first - 1)
        oldest = max(first - 1 - MAX_KEPT_EVENTS, 0)
        if first > 1 and oldest < first - 1:
            self._older = EventBackfill(self._build_row, after=oldest)
            reading = self._read_older(self._older, view_model, first - 1)
            self.run_worker(reading, group="log-older", exit_on_error=False)

    def _build_row(self, recorded: RecordedEvent) -> LogRow:
        if self.view_model is None or not isinstance(recorded.event, ApprovalRequested | ApprovalDecided):
            return build_log_row(recorded)
        return build_log_row(recorded, self.view_model.state.question_ids)

    async def _read_older(self, tail: EventBackfill[LogRow], view_model: ViewModel, until: int) -> None:
        """Read the older events in one piece, so that what people look at moves but once."""
        rows: list[LogRow] = []
        while tail.seq < until:
            rows += await tail.read_block(view_model.directory.journal, until)
        self._older, self._problem = None, tail.problem
        self._rows = rows + self._rows
        self._filter_all()

    def _add_rows(self, rows: Sequence[LogRow]) -> None:
        self._rows += rows
        if len(self._rows) > MAX_KEPT_EVENTS + MAX_KEPT_EVENTS // 10:
            del self._rows[: len(self._rows) - MAX_KEPT_EVENTS]
            self._filter_all()
        self._filter_more()

    # --- what of them is shown ---------------------------------------------------------------------------------------

    def apply_filter(self, wanted: RowFilter) -> None:
        """Show only what fits a filter from now on."""
        self.active_filter = wanted
        self._filter_all()

    def action_level(self) -> None:
        """Show all events, only important ones, or only those that went wrong."""
        self._level = LogLevel((self._level - 1) % len(LogLevel))
        self._filter_all()

    def _filter_all(self) -> None:
        """Filter all rows again; if the end was followed, it still is."""
        is_following = self._lines.is_following or not len(self._fitting)
        self._anchor_seq = None if is_following else self._fitting[self._lines.cursor].seq
        self._fitting, self._filtered_count = [], 0
        self._filter_more()
        if is_following:
            self._lines.action_edge(True)

    def _filter_more(self) -> None:
        """Filter some more rows, and go on soon if there are others; the first and the last ones are drawn."""
        is_first = self._filtered_count == 0
        part = self._rows[self._filtered_count : self._filtered_count + _AT_ONCE]
        self._fitting += filter(self._fits, part)
        self._filtered_count += len(part)
        is_last = self._filtered_count >= len(self._rows)
        if is_first:
            self._lines.invalidate_lines(0)
        elif is_last:
            self._lines.update_length()
        self._restore_cursor()
        if not is_last and not self._is_waiting:
            self._is_waiting = True
            self.set_timer(_SOON_S, self._continue_filtering)

    def _restore_cursor(self) -> None:
        """Move to the event that had the cursor before rows were filtered anew, once it is there again."""
        rows, seq = self._fitting, self._anchor_seq
        if seq is not None and (self._filtered_count == len(self._rows) or (rows and rows[-1].seq >= seq)):
            self._lines.move_to(bisect_left(rows, seq, key=lambda row: row.seq))
            self._anchor_seq = None

    def _continue_filtering(self) -> None:
        self._is_waiting = False
        self._filter_more()

    def _fits(self, row: LogRow) -> bool:
        terms = self.active_filter.terms
        return row.level >= self._level and (not terms or self.active_filter.matches_row(row.get_filter_values()))

    @property
    def selected_subjects(self) -> Sequence[Subject]:
        """The event with the cursor."""
        place = self._lines.cursor
        return [Subject("event", str(row.seq), row.text[:80]) for row in self._fitting[place : place + 1]]

    @property
    def status_text(self) -> str:
        """The kind of events shown, and their number."""
        problem = self._problem or getattr(self._tail, "problem", "")
        words = [f"{len(self._fitting):,} {_LEVELS[self._level]}", "reading older ones" * bool(self._older)]
        return "  ".join(filter(None, (*words, problem[:60])))


def _render_row(row: LogRow) -> Cell:
    """Return time, name and words of an event."""
    task = row.task if len(row.task) <= _TASK else f"…{row.task[1 - _TASK :]}"
    who = f"{row.role:7} {task:{_TASK}}"
    return [(f"{row.at.astimezone():%H:%M:%S}  ", "dim"), (f"{who}  ", "dim"), (row.text, _STYLES[row.level])]
