"""Who worked on what when, as SVG that stands in an HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.text.html_page import escape_html

_WIDTH, _LEFT, _ROW, _BOTTOM = 860, 200, 16, 22
_NAME = 28
MOST_TASKS = 120
"""Rows."""
_TICKS = 4


def render_gantt_svg(stretches: Sequence[Mapping[str, Any]], end_s: float) -> str:
    """An `<svg>` element with a row for each task, the first `MOST` of them; empty without a stretch.

    Args:
        stretches: `task`, `name`, `is_planning`, `begin_s` and `end_s` of each, in seconds from the run's start.
        end_s: where the drawing ends, and what still goes on with it.
    """
    rows = list(dict.fromkeys(one["task"] for one in stretches))[:MOST_TASKS]
    if not rows:
        return ""
    places = {task: place for place, task in enumerate(rows)}
    whole = max(1.0, end_s, *(one["end_s"] or one["begin_s"] for one in stretches))
    height = len(rows) * _ROW + _BOTTOM
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="who worked on what when">',
            *_axis(whole, height),
            *(
                f'<text x="{_LEFT - 6}" y="{(n + 1) * _ROW - 4}" text-anchor="end">{_name(t)}</text>'
                for t, n in places.items()
            ),
            *(_bar(one, places[one["task"]], whole) for one in stretches if one["task"] in places),
            "</svg>",
        )
    )


def _x(seconds: float, whole: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - 8) * min(max(seconds, 0) / whole, 1.0), 1)


def _axis(whole: float, height: int) -> Iterator[str]:
    for number in range(_TICKS + 1):
        at = whole * number / _TICKS
        x, anchor = _x(at, whole), "end" if number == _TICKS else "middle"
        yield f'<line class="grid" x1="{x}" y1="0" x2="{x}" y2="{height - _BOTTOM}"/>'
        yield f'<text x="{x}" y="{height - 6}" text-anchor="{anchor}">{format_short_duration(at)}</text>'


def _name(task: str) -> str:
    return escape_html(task if len(task) <= _NAME else f"…{task[1 - _NAME :]}")


def _bar(one: Mapping[str, Any], place: int, whole: float) -> str:
    begin, end = one["begin_s"], one["end_s"] if one["end_s"] is not None else whole
    x, kind = _x(begin, whole), "planning" if one["is_planning"] else "attempt"
    told = f"{one['task']}: {one['name']}, {format_short_duration(max(end - begin, 0))}"
    size = f'width="{max(_x(end, whole) - x, 1.5):.1f}" height="{_ROW - 5}"'
    return f'<rect class="{kind}" x="{x}" y="{place * _ROW + 2}" {size}><title>{escape_html(told)}</title></rect>'
