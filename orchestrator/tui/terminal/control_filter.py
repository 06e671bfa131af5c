"""The last thing that happens to every line before a terminal gets it: nothing in it that a terminal would act on.

Tables and texts make their own words inert already. This holds for all else as well: titles, messages, what is typed.
"""

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from orchestrator.domain.text.sanitization import strip_controls


class ControlCharacterFilter(LineFilter):
    """Replaces control characters, halves of surrogate pairs and what turns text round by blanks of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters; Textual's own controls are not in their text."""
        return [replace_text(segment, _blank_controls(segment.text)) for segment in segments]


def replace_text(segment: Segment, text: str) -> Segment:
    """Return a segment with this text; the same one if it has it already."""
    return segment if text == segment.text else Segment(text, segment.style, segment.control)


def _blank_controls(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(map(_blank_control, text))


def _blank_control(char: str) -> str:
    if char not in "\n\t" and strip_controls(char):
        return char
    return " " * max(get_character_cell_size(char), 0)
