"""A filter for terminals that show only ASCII: it replaces the characters of models, tools and Textual as well."""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from orchestrator.tui.terminal.control_filter import replace_text

_LIKENESSES: Mapping[str, str] = {
    "✓": "+", "✗": "x", "⊘": "-", "○": "o", "●": "*", "•": "*", "·": ".", "…": ".", "⚙": "T", "⚖": "J", "⇄": "M",
    "▶": ">", "▸": "+", "▾": "-", "▼": "v", "↻": "r", "‖": "=", "→": ">", "←": "<", "↑": "^", "↓": "v", "⏎": "/",
    "█": "#", "▓": "#", "▒": "x", "░": ".", "─": "-", "━": "-", "│": "|", "┃": "|", "–": "-", "—": "-", "−": "-",
    "×": "x", "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"',
}  # fmt: skip
_BOXES, _BLOCKS = range(0x2500, 0x2580), range(0x2580, 0x25A0)
"""Corners and crossings of lines; partly filled cells."""


class AsciiFilter(LineFilter):
    """The last thing that happens to a line before it is drawn. It keeps the width of everything."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments in ASCII."""
        return [replace_text(segment, convert_to_ascii(segment.text)) for segment in segments]


def convert_to_ascii(text: str) -> str:
    """Return the text with as many cells in ASCII; a character without a likeness becomes `?`."""
    return text if text.isascii() else "".join(map(_convert_character, text))


@lru_cache(4_096)
def _convert_character(character: str) -> str:
    if character.isascii():
        return character
    code = ord(character)
    drawing = "+" * (code in _BOXES) or "#" * (code in _BLOCKS)
    like = _LIKENESSES.get(character) or drawing or _convert_letter(character)
    return like * get_character_cell_size(character)


def _convert_letter(character: str) -> str:
    """Return the letter without its accent; `?` for what is none."""
    first = unicodedata.normalize("NFKD", character)[:1]
    if first.isascii() and first.isprintable():
        return first
    return "?"
