"""The last thing that happens to every line before a terminal gets it: nothing in it that a terminal would act on.

Tables and texts make their own words inert already. This holds for all else as well: titles, messages, what is typed.
"""

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from orchestrator.domain.text.sanitization import strip_controls


class ControlCharacterFilter(LineFilter):
    """Control characters, halves of surrogate pairs and what turns text round become blanks, or nothing where they had
    no width: everything keeps its place.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters; Textual's own controls are not in their text."""
        return [
            segment if segment.text.isprintable() else Segment(_blanked(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def _blanked(text: str) -> str:
    return "".join(char if _is_harmless(char) else " " * max(get_character_cell_size(char), 0) for char in text)


def _is_harmless(char: str) -> bool:
    return char not in "\n\t" and bool(strip_controls(char))
