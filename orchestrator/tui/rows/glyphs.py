"""The characters that the dashboard draws with, and their likenesses for terminals that show only ASCII."""

from typing import NamedTuple

from orchestrator.tui.rows.text_plots import ASCII_BARS, BARS


class Glyphs(NamedTuple):
    """Bars, the signs of a tree, and the lines of a chart."""

    full: str
    empty: str
    folded: str
    unfolded: str
    pointer: str
    vertical: str
    horizontal: str
    corner: str
    tick: str
    bars: str
    """Bars that grow until they fill a cell."""


UNICODE_GLYPHS = Glyphs("▓", "░", "▸", "▾", "›", "│", "─", "└", "┴", BARS)
ASCII_GLYPHS = Glyphs("#", ".", "+", "-", ">", "|", "-", "+", "^", ASCII_BARS)


def get_glyphs(is_ascii: bool) -> Glyphs:
    """Return the characters to draw with."""
    if is_ascii:
        return ASCII_GLYPHS
    return UNICODE_GLYPHS
