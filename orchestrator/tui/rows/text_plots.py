"""Curves and stacked areas in characters: pure text, a list of rows from top to bottom, the same width each.

Of all characters to draw with there are likenesses for terminals that show only ASCII.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Span = tuple[str, str]
"""Words with the name of their style."""
BARS = "▁▂▃▄▅▆▇█"
"""Bars that grow until they fill a cell."""
ASCII_BARS = "_.:-=+*#"


class Glyphs(NamedTuple):
    """Bars, the signs of a tree, and the lines of a chart. A progress bar has a part that is still under way."""

    full: str
    empty: str
    done: str
    under_way: str
    failed: str
    to_come: str
    folded: str
    unfolded: str
    pointer: str
    vertical: str
    horizontal: str
    corner: str
    tick: str
    bars: str


_GLYPHS = (
    Glyphs("▓", "░", "━", "╍", "×", "─", "▸", "▾", "›", "│", "─", "└", "┴", BARS),
    Glyphs("#", ".", "=", "~", "x", ".", "+", "-", ">", "|", "-", "+", "^", ASCII_BARS),
)


def get_glyphs(is_ascii: bool) -> Glyphs:
    """Return the characters to draw with."""
    return _GLYPHS[is_ascii]


def sample_step_curve(times: Sequence[float], values: Sequence[float], width: int, end: float) -> list[float]:
    """Return the value of a step curve at `width` times from 0 to `end`: the last one before each.

    Args:
        times: ascending, as many as values.
        values: what holds from each time on.
        width: how many.
        end: the last time that is looked at; not negative.
    """
    if not times or width <= 0:
        return []
    places = (end * column / max(width - 1, 1) for column in range(width))
    return [values[max(bisect_right(times, place) - 1, 0)] for place in places]


def plot_area(values: Sequence[float], height: int, top: float, bars: str = BARS) -> list[str]:
    """Plot a filled curve, a column for each value; a value above zero is visible, however small.

    Args:
        values: not negative.
        height: in rows.
        top: the value that fills a column; what is above it is cut.
        bars: the steps by which a cell fills, the last one full.
    """
    steps = len(bars)
    levels = [_scale(value, top, height * steps) for value in values]
    rows = []
    for base in range((height - 1) * steps, -1, -steps):
        rows.append("".join(_draw_cell(level - base, bars) for level in levels))
    return rows


def _scale(value: float, top: float, full: int) -> int:
    if value <= 0 or top <= 0:
        return 0
    return max(1, round(min(value / top, 1.0) * full))


def _draw_cell(level: int, bars: str) -> str:
    return f" {bars}"[max(0, min(level, len(bars)))]


def plot_stacked_areas(
    columns: Sequence[Mapping[str, float]], looks: Mapping[str, Span], height: int
) -> list[list[Span]]:
    """Plot parts of a whole over time: every column is full, the first part at the bottom.

    Args:
        columns: the sizes of the parts at each time; parts without a look are left out.
        looks: by part, from the bottom up, the character that it is drawn with, and its style.
        height: in rows.
    """
    drawn = [_draw_column(column, looks, height) for column in columns]
    return list(map(_join_spans, reversed(list(zip(*drawn, strict=True)))))


def _draw_column(parts: Mapping[str, float], looks: Mapping[str, Span], height: int) -> list[Span]:
    """Return the cells of a column from the bottom up."""
    whole = sum(parts.get(name, 0.0) for name in looks)
    if whole <= 0:
        return [(" ", "")] * height
    cells: list[Span] = []
    reached = 0.0
    for name, look in looks.items():
        reached += parts.get(name, 0.0)
        cells += [look] * (round(reached / whole * height) - len(cells))
    return cells


def _join_spans(cells: Sequence[Span]) -> list[Span]:
    """Join neighbours of one style into one span."""
    spans: list[Span] = []
    for text, style in cells:
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + text, style)
        else:
            spans.append((text, style))
    return spans


def plot_sparkline(values: Sequence[float], width: int, bars: str = BARS) -> str:
    """Plot one line, a character for each value or for the sum of several neighbours; a blank stands for zero."""
    if not values or width <= 0:
        return ""
    each = -(-len(values) // width)
    sums = [sum(values[place : place + each]) for place in range(0, len(values), each)]
    return plot_area(sums, 1, max(sums), bars)[0]


def cut_spans(spans: Sequence[Span], width: int) -> list[Span]:
    """Return spans without the characters from `width` on; those that are left out whole become empty."""
    kept = []
    for text, style in spans:
        kept.append((text[:width], style))
        width -= len(kept[-1][0])
    return kept
