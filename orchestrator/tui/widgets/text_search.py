"""Looking for words in a long text, a little at a time, so that whoever draws it can go on drawing."""

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.tui.widgets.styled_text import Cell, clean_line, get_raw_text


class LineSource(Protocol):
    """A text of any length, of which only the lines that are looked at are made."""

    def __len__(self) -> int:
        """Return the number of lines by now."""

    def get_line(self, index: int) -> Cell:
        """Return one line, counted from 0. It may hold anything: it is made harmless before it is drawn."""


@dataclass
class LineList:
    """A text that is a list of lines; it may grow."""

    lines: Sequence[Cell] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def get_line(self, index: int) -> Cell:
        """Return one line."""
        return self.lines[index]


@dataclass(frozen=True)
class LazyLines:
    """A text whose lines are counted and made by two functions."""

    count_lines: Callable[[], int]
    make_line: Callable[[int], Cell]

    def __len__(self) -> int:
        return self.count_lines()

    def get_line(self, index: int) -> Cell:
        """Return one line."""
        return self.make_line(index)


class TextSearch:
    """A search for words. Capitals matter only if the words have some."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.hits: list[int] = []
        """The lines, in order, up to the one that was looked at last."""
        self.searched_count = 0
        self._has_capitals = text != text.lower()
        self._pattern = re.compile(re.escape(text), re.NOFLAG if self._has_capitals else re.IGNORECASE)

    def search_more(self, source: LineSource, seconds: float) -> bool:
        """Search more lines for some time, at least one; return True once there are no more."""
        until = time.perf_counter() + seconds
        while self.searched_count < len(source):
            if self._is_in(get_raw_text(source.get_line(self.searched_count))):
                self.hits.append(self.searched_count)
            self.searched_count += 1
            if time.perf_counter() > until:
                break
        return self.searched_count >= len(source)

    def _is_in(self, text: str) -> bool:
        if not text.isprintable():
            text = clean_line(text)
        return self.text in (text if self._has_capitals else text.lower())

    def invalidate_from(self, first: int) -> None:
        """Forget the hits in lines from `first` on."""
        if first < self.searched_count:
            self.searched_count = first
            del self.hits[bisect_left(self.hits, first) :]

    def find_next_hit(self, index: int, is_whole: bool) -> int | None:
        """Return the next hit after a line, wrapping if `is_whole` text was searched; None if unknown yet."""
        place = bisect_right(self.hits, index)
        if place < len(self.hits):
            return self.hits[place]
        return self.hits[0] if self.hits and is_whole else None

    def find_previous_hit(self, index: int, is_whole: bool) -> int | None:
        """Return the hit before a line, as `find_next_hit`."""
        if self.searched_count < index and not is_whole:
            return None
        place = bisect_left(self.hits, index)
        if place:
            return self.hits[place - 1]
        return self.hits[-1] if self.hits and is_whole else None

    def get_rank(self, index: int) -> int:
        """Return the rank of a hit among all hits, counted from 1."""
        return bisect_left(self.hits, index) + 1

    def find_matches(self, text: str) -> list[tuple[int, int]]:
        """Return where the words begin and end in a line."""
        return [match.span() for match in self._pattern.finditer(text) if match[0]]
