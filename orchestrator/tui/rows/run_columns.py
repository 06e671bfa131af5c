"""The columns of the list of all runs, for its table and for the frame that is painted before that is there."""

from datetime import UTC, datetime
from pathlib import PurePath

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import format_count
from orchestrator.report.run.condition import RunCondition
from orchestrator.report.runs.model import RunEntry
from orchestrator.report.runs.rendering import describe_goal, describe_state, get_shown_name
from orchestrator.tui.widgets.table_rows import CellContext, Column, Row, build_row

_STYLES = {RunCondition.RUNNING: "run", RunCondition.PAUSED: "pause", RunCondition.STOPPED: "stop", "done": "done"}


def _show_repository(entry: RunEntry, _context: CellContext) -> str:
    return PurePath(entry.summary.repository).name if entry.summary else ""


def _show_age(entry: RunEntry, context: CellContext) -> str:
    if entry.summary is None:
        return ""
    return format_short_duration((context.now - entry.summary.started_at).total_seconds())


def _show_state(entry: RunEntry, _context: CellContext) -> str:
    return describe_state(entry.word, entry.summary) if entry.summary else entry.word


def _show_done(entry: RunEntry, _context: CellContext) -> str:
    return f"{entry.summary.done}/{entry.summary.total}" if entry.summary else ""


def _show_cost(entry: RunEntry, _context: CellContext) -> str:
    return entry.summary.cost.price if entry.summary else ""


def _show_goal(entry: RunEntry, _context: CellContext) -> str:
    return describe_goal(entry.summary) if entry.summary else entry.problem


RUN_COLUMNS = (
    Column("run", "Run", 20, cell=lambda entry, _context: get_shown_name(entry)),
    Column("repository", "Repository", 16, priority=1, cell=_show_repository),
    Column("state", "State", 16, cell=_show_state),
    Column("age", "Age", 6, priority=2, cell=_show_age),
    Column("done", "Done", 7, priority=3, cell=_show_done),
    Column("cost", "Cost", 10, priority=4, cell=_show_cost),
    Column("goal", "Goal", 20, priority=5, grows=True, cell=_show_goal),
)


def build_run_row(entry: RunEntry, *, is_ascii: bool) -> Row:
    """Return the row of a run."""
    style = "ask" if is_asking(entry) else _STYLES.get(entry.word, "")
    return build_row(entry.place, entry, RUN_COLUMNS, CellContext(is_ascii, datetime.now(UTC)), style)


def is_asking(entry: RunEntry) -> bool:
    """Return True if a run waits for a person's answer."""
    return entry.summary is not None and entry.summary.questions_open > 0


def format_runs_title(total: int, waiting: int | None) -> str:
    """Return the title of the list; `waiting` is None while not all runs have been read."""
    if waiting is None:
        return f"Runs  {format_count(total, 'run')}, reading …"
    return f"Runs  {format_count(total, 'run')}, {waiting} ask you something"
