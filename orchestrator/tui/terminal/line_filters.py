"""The last things that happen to every line before a terminal gets it: nothing in it that a terminal would act on.

Tables and texts make their own words inert already. This holds for all else as well: titles, messages, what is typed.
For terminals that show only ASCII, the characters of models, tools and Textual are replaced, too.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from orchestrator.domain.text.sanitization import strip_controls

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


class ControlCharacterFilter(LineFilter):
    """Replaces control characters, halves of surrogate pairs and what turns text round by blanks of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters; Textual's own controls are not in their text."""
        return [replace_text(segment, _blank_controls(segment.text)) for segment in segments]


def replace_text(segment: Segment, text: str) -> Segment:
    """Return a segment with this text; the same one if it has it already."""
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


def _blank_controls(text: str) -> str:
    return text if text.isprintable() else "".join(map(_blank_control, text))


def _blank_control(char: str) -> str:
    if char not in "\n\t" and strip_controls(char):
        return char
    return " " * max(get_character_cell_size(char), 0)
