"""Quotes copied with the line numbers that a tool showed in front of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBERED = re.compile(r"[ ]*(\d{1,7})(?:(\t|→|[ ]?\||:)(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NumberedLines:
    """Lines as a tool shows them, taken apart: number, mark after it, text."""

    mark: str
    numbers: tuple[int, ...]
    texts: tuple[str, ...]

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> "NumberedLines | None":
        """Return the lines taken apart, or None unless every one has a number and the same mark after it."""
        found = [_NUMBERED.match(line) for line in lines]
        marks = {find_number_mark(line) for line in lines} - {None}
        mark = marks.pop() if marks else None
        if mark is None or marks or None in found:
            return None
        parts = [match.groups() for match in found if match]
        if mark != "\t" and any(part[1] is None for part in parts):
            return None
        return cls(mark, tuple(int(part[0]) for part in parts), tuple(part[2] or "" for part in parts))

    @property
    def is_consecutive(self) -> bool:
        """True if the numbers count up by one, as those of a copied piece do."""
        return all(b == a + 1 for a, b in zip(self.numbers, self.numbers[1:], strict=False))

    @property
    def is_spaced(self) -> bool:
        """True if a space that may belong to the mark follows it in every line."""
        return all(text[:1] in {"", " "} for text in self.texts)

    @property
    def texts_without_space(self) -> tuple[str, ...]:
        """The texts without that space."""
        return tuple(text.removeprefix(" ") for text in self.texts)


def find_number_mark(line: str) -> str | None:
    """Return what follows the line number that the line begins with, or None."""
    match = _NUMBERED.match(line)
    if match and match[2]:
        return match[2].strip(" ")
    return None
