"""The curve of a burndown as SVG, to stand in an HTML page: sites over time, what happened when, the ideal line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line

_WIDTH, _HEIGHT = 860, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 14, 14, 34
_INNER_W, _INNER_H = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_TICKS = 4


@dataclass(frozen=True)
class _Scale:
    """What is drawn at the right edge (seconds) and at the top (sites)."""

    seconds: float
    sites: float

    def scale_time(self, at: float) -> float:
        return round(_LEFT + min(at / self.seconds, 1.0) * _INNER_W, 1)

    def scale_sites(self, sites: float) -> float:
        return round(_TOP + (1 - min(sites / self.sites, 1.0)) * _INNER_H, 1)


def render_burndown_svg(
    series: Sequence[Mapping[str, Any]], ideal: Sequence[Mapping[str, float]] | None, unit: str
) -> str:
    """An `<svg>` element; empty without a point."""
    if not series:
        return ""
    seconds = max(float(series[-1]["at"]), 1.0)
    scale = _Scale(seconds, max(1.0, *(float(point["sites"]) for point in series)))
    told = f"{unit} remaining over time"
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(told)}">',
            f"<title>{escape(told)}</title>",
            *_axes(scale),
            *_ideal(scale, ideal),
            f'<polyline class="curve" points="{" ".join(_steps(scale, series))}"/>',
            *_marks(scale, series),
            "</svg>",
        )
    )


def _axes(scale: _Scale) -> Iterator[str]:
    for number in range(_TICKS + 1):
        sites, at = scale.sites * number / _TICKS, scale.seconds * number / _TICKS
        y, x = scale.scale_sites(sites), scale.scale_time(at)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{sites:,.0f}</text>'
        yield f'<text x="{x}" y="{_HEIGHT - 12}" text-anchor="middle">{format_short_duration(at)}</text>'


def _steps(scale: _Scale, series: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What remained stays until the next point, where it falls at once."""
    before = None
    for point in series:
        x, y = scale.scale_time(point["at"]), scale.scale_sites(point["sites"])
        if before not in (None, y):
            yield f"{x},{before}"
        yield f"{x},{y}"
        before = y


def _ideal(scale: _Scale, ideal: Sequence[Mapping[str, float]] | None) -> Iterator[str]:
    """The part of the line to the deadline that lies within the time drawn."""
    if not ideal or ideal[1]["at"] <= 0:
        return
    begin, end = ideal
    part = min(scale.seconds / end["at"], 1.0)
    sites = begin["sites"] + (end["sites"] - begin["sites"]) * part
    to = f'x2="{scale.scale_time(end["at"] * part)}" y2="{scale.scale_sites(sites)}"'
    yield f'<line class="ideal" x1="{scale.scale_time(0)}" y1="{scale.scale_sites(begin["sites"])}" {to}/>'


def _marks(scale: _Scale, series: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for point in series:
        if point["mark"]:
            x, y = scale.scale_time(point["at"]), scale.scale_sites(point["sites"])
            yield f'<line class="mark" x1="{x}" y1="{_TOP}" x2="{x}" y2="{_HEIGHT - _BOTTOM}"/>'
            said = escape(f"{format_short_duration(point['at'])}: {to_one_line(point['mark'], 200)}")
            yield f'<circle class="mark" cx="{x}" cy="{y}" r="3"><title>{said}</title></circle>'
