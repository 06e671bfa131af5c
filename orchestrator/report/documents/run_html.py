"""Render the report of a run as one HTML page that needs nothing else; it is read without a script, and prints."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.documents.run_report_model import ReportedInterval, ReportedTask, RunReport
from orchestrator.report.migration.full_report import ReportedFile
from orchestrator.report.migration.report_html import build_burndown_chart
from orchestrator.report.text.html_templates import render_template

_WIDTH, _LEFT, _RIGHT = 860, 200, 8
_ROW_HEIGHT, _BAR_HEIGHT, _AXIS_HEIGHT = 16, 11, 22
_LEAST_BAR_WIDTH = 1.5
_NAME_CHARS = 28
_MOST_ROWS = 120
_TICKS = 4


@dataclass(frozen=True)
class GanttTick:
    """A moment of the time axis."""

    x: float
    anchor: str
    label: str


@dataclass(frozen=True)
class GanttRow:
    """The name of a task, beside its row."""

    y: int
    name: str


@dataclass(frozen=True)
class GanttBar:
    """An attempt, or a planner's round; `kind` is `attempt` or `planning`."""

    kind: str
    x: float
    y: int
    width: float
    label: str
    height: int = _BAR_HEIGHT


@dataclass(frozen=True)
class GanttChart:
    """The drawing, in its own units. `more_tasks` is the number of tasks that have no row."""

    height: int
    ticks: tuple[GanttTick, ...]
    rows: tuple[GanttRow, ...]
    bars: tuple[GanttBar, ...]
    more_tasks: int
    width: int = _WIDTH
    left: int = _LEFT

    @property
    def bottom(self) -> int:
        """The height at which the rows end and the axis begins."""
        return self.height - _AXIS_HEIGHT


def build_gantt_chart(intervals: Sequence[ReportedInterval], end_s: float) -> GanttChart | None:
    """Return a chart with a row for each of the first 120 tasks; None without an interval.

    Args:
        intervals: attempts and planners' rounds.
        end_s: where the drawing ends, and what still goes on with it.
    """
    if not intervals:
        return None
    numbers: dict[str, int] = {}
    duration = max(1.0, end_s)
    for interval in intervals:
        numbers.setdefault(interval.task, len(numbers))
        duration = max(duration, interval.end_s or interval.begin_s)
    tasks = list(numbers)[:_MOST_ROWS]
    bars = []
    for interval in intervals:
        if numbers[interval.task] < len(tasks):
            bars.append(_build_bar(interval, numbers[interval.task], duration))
    return GanttChart(
        height=len(tasks) * _ROW_HEIGHT + _AXIS_HEIGHT,
        ticks=tuple(_build_tick(number, duration) for number in range(_TICKS + 1)),
        rows=tuple(_build_row(number, task) for number, task in enumerate(tasks)),
        bars=tuple(bars),
        more_tasks=len(numbers) - len(tasks),
    )


def _scale_time(seconds: float, duration: float) -> float:
    share = min(max(seconds, 0) / duration, 1.0)
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * share, 1)


def _build_tick(number: int, duration: float) -> GanttTick:
    seconds = duration * number / _TICKS
    anchor = "end" if number == _TICKS else "middle"
    return GanttTick(_scale_time(seconds, duration), anchor, format_short_duration(seconds))


def _build_row(number: int, task: str) -> GanttRow:
    name = f"…{task[1 - _NAME_CHARS :]}" if len(task) > _NAME_CHARS else task
    return GanttRow((number + 1) * _ROW_HEIGHT - 4, name)


def _build_bar(interval: ReportedInterval, number: int, duration: float) -> GanttBar:
    begin, end = interval.begin_s, interval.end_s
    if end is None:
        end = duration
    x = _scale_time(begin, duration)
    width = max(_scale_time(end, duration) - x, _LEAST_BAR_WIDTH)
    label = f"{interval.task}: {interval.name}, {format_short_duration(max(end - begin, 0))}"
    kind = "attempt"
    if interval.is_planning:
        kind = "planning"
    return GanttBar(kind, x, number * _ROW_HEIGHT + 2, round(width, 1), label)


MOST_BYTES = 5_000_000
_ROWS, _LEAST_ROWS = 2_000, 200


@dataclass(frozen=True)
class PageContent:
    """A report as a page shows it. `left_out` says in words what it lacks.

    With `hides_landed` tasks that landed have a row, and no part of their own.
    """

    report: RunReport
    left_out: tuple[str, ...] = ()
    hides_landed: bool = False

    @property
    def shown_tasks(self) -> tuple[ReportedTask, ...]:
        """The tasks that have a part of their own."""
        return tuple(task for task in self.report.tasks_by_tree if not (self.hides_landed and task.has_landed))


def render_run_html(report: RunReport, most_bytes: int = MOST_BYTES) -> str:
    """Return the page. One that would be larger than `most_bytes` is made of less, and says what it leaves out.

    What is left out last is a row for each task and file: with more of those than it has room for, it has the first.
    """
    for content in iterate_page_contents(report):
        text = _render_page(content)
        if len(text.encode("utf-8", "replace")) <= most_bytes:
            break
    return text


def _render_page(content: PageContent) -> str:
    report = content.report
    return render_template(
        "run.html",
        report=report,
        content=content,
        timeline=_build_timeline(report),
        curve=build_burndown_chart(report.migration) if report.migration else None,
        settings=json.dumps([report.settings, *report.settings_changed], indent=1, ensure_ascii=False),
    )


def _build_timeline(report: RunReport) -> GanttChart | None:
    begin = datetime.fromisoformat(report.started_at)
    end = datetime.fromisoformat(report.last_at or report.started_at)
    return build_gantt_chart(report.timeline, (end - begin).total_seconds())


def iterate_page_contents(report: RunReport) -> Iterator[PageContent]:
    """Yield the report as it is, then with ever less in it: what can best be read elsewhere goes first."""
    run, left_out = report.run, [f"what was said at work that landed: orchestrate logs {report.run}"]
    yield PageContent(report)
    report = _change_tasks(report, tuple(map(_drop_talk_that_landed, report.tasks_by_tree)))
    yield PageContent(report, tuple(left_out))
    report = _change_tasks(report, tuple(map(_drop_talk, report.tasks_by_tree)))
    left_out.append(f"what was said, and how to run checks again: orchestrate logs {run}, orchestrate show {run}")
    yield PageContent(report, tuple(left_out))
    left_out.append(f"the parts of tasks that landed: orchestrate show {run} TASK")
    yield PageContent(report, tuple(left_out), hides_landed=True)
    left_out.append(f"all but {_ROWS:,} tasks and files: orchestrate status {run} --json")
    yield PageContent(_keep_rows(report, _ROWS), tuple(left_out), hides_landed=True)
    left_out.append(f"all but {_LEAST_ROWS} tasks and files")
    yield PageContent(_keep_rows(report, _LEAST_ROWS), tuple(left_out), hides_landed=True)


def _change_tasks(report: RunReport, tasks: tuple[ReportedTask, ...]) -> RunReport:
    return copy_with_changes(report, tasks_by_tree=tasks)


def _drop_talk_that_landed(task: ReportedTask) -> ReportedTask:
    if task.has_landed:
        return copy_with_changes(task, said=())
    return task


def _drop_talk(task: ReportedTask) -> ReportedTask:
    receipts = tuple(copy_with_changes(receipt, again=None) for receipt in task.receipts)
    return copy_with_changes(task, said=(), receipts=receipts)


def _keep_rows(report: RunReport, limit: int) -> RunReport:
    """Return the report with at most `limit` tasks and files; those that did not land first."""
    migration = report.migration
    if migration:
        files = sorted(migration.files, key=_has_file_landed)[:limit]
        migration = copy_with_changes(migration, files=tuple(files))
    tasks = sorted(report.tasks_by_tree, key=attrgetter("has_landed"))[:limit]
    return copy_with_changes(report, tasks_by_tree=tuple(tasks), migration=migration)


def _has_file_landed(file: ReportedFile) -> bool:
    return file.status == FileStatus.MERGED
