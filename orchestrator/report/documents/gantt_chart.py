"""Lay out who worked on what when, for the drawing in a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.documents.run_report_model import ReportedInterval

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
