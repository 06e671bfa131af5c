"""Cells that several tables of the dashboard have."""

from datetime import datetime

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.tui.rows.text_plots import get_glyphs
from orchestrator.tui.widgets.styled_text import Cell, Span


def format_nonzero(number: int, prefix: str = "") -> str:
    """Return a number with its prefix; empty for 0."""
    if number:
        return f"{prefix}{number}"
    return ""


def render_failures(count: int) -> Cell:
    """Return a number of failures; empty for 0."""
    if count:
        return (str(count), "state-fail")
    return ""


def format_age(at: datetime | None, now: datetime) -> str:
    """Return the time since `at`; empty where that is not known."""
    if at is None:
        return ""
    return format_short_duration(max((now - at).total_seconds(), 0.0))


def render_bar(label: str, done: int, total: int, cells: int, *, is_ascii: bool) -> list[Span]:
    """Return a label and a bar of so many cells; nothing is done of nothing."""
    glyphs = get_glyphs(is_ascii)
    full = done * cells // max(total, 1)
    return [(label, ""), (glyphs.full * full, "state-done"), (glyphs.empty * (cells - full), "dim")]
