"""Render the report of a migration as one HTML page that needs nothing else, with its curve: sites over time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.migration.files import Tick
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.burndown_model import CurvePoint
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.text.html_templates import render_template

_WIDTH, _HEIGHT = 860, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 14, 846, 226
_TICKS = 4


@dataclass(frozen=True)
class BurndownTick:
    """A line of the grid with what it stands for, and a label of the time axis."""

    x: float
    y: float
    sites: str
    time: str


@dataclass(frozen=True)
class IdealLine:
    """The part of the line to the deadline that lies within the time drawn."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class BurndownMark:
    """Something that happened."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class BurndownChart:
    """The drawing, in its own units; `curve` are the points of a polyline."""

    label: str
    ticks: tuple[BurndownTick, ...]
    ideal: IdealLine | None
    curve: str
    marks: tuple[BurndownMark, ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    top: int = _TOP
    right: int = _RIGHT
    bottom: int = _BOTTOM


@dataclass(frozen=True)
class _Scale:
    """The values at the right edge (seconds) and at the top (sites)."""

    seconds: float
    sites: float

    def scale_time(self, at: float) -> float:
        return round(_LEFT + min(at / self.seconds, 1.0) * (_RIGHT - _LEFT), 1)

    def scale_sites(self, sites: float) -> float:
        return round(_TOP + (1 - min(sites / self.sites, 1.0)) * (_BOTTOM - _TOP), 1)


def render_migration_html(report: MigrationReport) -> str:
    """Return the page."""
    return render_template("migration.html", report=report, curve=build_burndown_chart(report))


def build_burndown_chart(report: MigrationReport) -> BurndownChart | None:
    """Return the drawing of a migration's curve and of the two points of its ideal line; None without a point."""
    series = report.series
    if not series:
        return None
    top = max(point.sites for point in series)
    scale = _Scale(max(series[-1].at, 1.0), max(top, 1.0))
    return BurndownChart(
        label=f"{report.unit} remaining over time",
        ticks=tuple(_build_tick(scale, number / _TICKS) for number in range(_TICKS + 1)),
        ideal=_build_ideal_line(scale, report.ideal),
        curve=" ".join(_iterate_curve_points(scale, series)),
        marks=tuple(_iterate_marks(scale, series)),
    )


def _build_tick(scale: _Scale, part: float) -> BurndownTick:
    sites, at = scale.sites * part, scale.seconds * part
    return BurndownTick(
        x=scale.scale_time(at), y=scale.scale_sites(sites), sites=f"{sites:,.0f}", time=format_short_duration(at)
    )


def _iterate_curve_points(scale: _Scale, series: Sequence[Tick]) -> Iterator[str]:
    """Yield the corners of steps: a value stays until the next point, where it changes at once."""
    last_y = None
    for point in series:
        x, y = scale.scale_time(point.at), scale.scale_sites(point.sites)
        if last_y not in {None, y}:
            yield f"{x},{last_y}"
        yield f"{x},{y}"
        last_y = y


def _build_ideal_line(scale: _Scale, ideal: tuple[CurvePoint, CurvePoint] | None) -> IdealLine | None:
    if ideal is None or ideal[1].at <= 0:
        return None
    begin, end = ideal
    part = min(scale.seconds / end.at, 1.0)
    sites = begin.sites + (end.sites - begin.sites) * part
    return IdealLine(
        x1=scale.scale_time(0),
        y1=scale.scale_sites(begin.sites),
        x2=scale.scale_time(end.at * part),
        y2=scale.scale_sites(sites),
    )


def _iterate_marks(scale: _Scale, series: Sequence[Tick]) -> Iterator[BurndownMark]:
    for point in series:
        if point.mark:
            label = f"{format_short_duration(point.at)}: {to_one_line(point.mark, 200)}"
            yield BurndownMark(scale.scale_time(point.at), scale.scale_sites(point.sites), label)
