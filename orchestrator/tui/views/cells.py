"""Cells that several tables of the dashboard have."""

from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.tui.rows.text_plots import get_glyphs
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table_rows import CellContext, Column


def format_nonzero(number: int, prefix: str = "") -> str:
    """Return a number with its prefix; empty for 0."""
    return f"{prefix}{number}" * bool(number)


def render_failures(count: int) -> Cell:
    """Return a number of failures; empty for 0."""
    return (format_nonzero(count), "state-fail")


def render_bar(label: str, done: int, total: int, cells: int, *, is_ascii: bool) -> list[Span]:
    """Return a label and a bar of so many cells; nothing is done of nothing."""
    glyphs = get_glyphs(is_ascii)
    full = done * cells // max(total, 1)
    return [(label, ""), (glyphs.full * full, "state-done"), (glyphs.empty * (cells - full), "dim")]


def _render_activity(row: Any, context: CellContext) -> Cell:  # noqa: ANN401 -- any row with an activity
    return (row.activity.render_label(context.is_ascii), row.activity.style)


def _render_age(row: Any, context: CellContext) -> Cell:  # noqa: ANN401 -- any row with a time
    if row.at is None:
        return ""
    return format_short_duration(max((context.now - row.at).total_seconds(), 0.0))


STATE_COLUMN = Column("state", "STATE", 7, cell=_render_activity)
AGE_COLUMN = Column("age", "AGE", 6, priority=5, to_the_right=True, cell=_render_age)
