"""A conversation as lines, made only when they are looked at: a hundred thousand of them are there at once.

The same lines serve the dashboard, line mode, the stream on a plain terminal and the report of a run.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from orchestrator.domain.event import RecordedEvent, work
from orchestrator.tui.rows import transcript_items

_INDENT = "      "
_KEPT = 64
_NOWHERE: tuple[int, int, tuple[str, ...], tuple[str, str]] = (0, 0, (), ("", ""))


class Transcript:
    """The lines of one conversation at a level. Items can be opened and closed; then lines below them move.

    Long texts are read from blobs only when an item is open and one of its lines is wanted.
    """

    def __init__(
        self,
        read_blob: transcript_items.ReadBlob,
        level: transcript_items.TranscriptLevel = transcript_items.TranscriptLevel.NORMAL,
        *,
        is_ascii: bool = False,
        opens_all: bool = False,
    ) -> None:
        """`opens_all` shows everything open that comes in."""
        self.level = level
        self._opens_all = opens_all
        self.seq = 0
        self._read_blob = read_blob
        self._is_ascii = is_ascii
        self._items: list[transcript_items.TranscriptItem] = []
        self._tools: dict[str, transcript_items.TranscriptItem] = {}
        self._shown: list[transcript_items.TranscriptItem] = []
        self._ends: list[int] = []
        self._near = _NOWHERE
        self._body = lru_cache(_KEPT)(self._lines_below)

    # --- what there is -----------------------------------------------------------------------------------------------

    def extend(self, events: Iterable[RecordedEvent]) -> int:
        """Append events in order; return the first line that may look different now."""
        changed = len(self._shown)
        for recorded in events:
            self.seq = recorded.seq
            event = recorded.event
            if isinstance(event, work.ToolReturned) and (item := self._tools.pop(event.key, None)):
                item.add_result(event)
                item.is_open = item.is_open or (self._opens_all and item.can_open)
                if item.level <= self.level:
                    changed = min(changed, self._find_place_of_item(item))
                continue
            item = transcript_items.build_item(len(self._items) + 1, recorded)
            item.is_open = item.is_open or (self._opens_all and item.can_open)
            self._items.append(item)
            if isinstance(event, work.ToolCalled):
                self._tools[event.key] = item
            if item.level <= self.level:
                self._shown.append(item)
        self._count_lines_from(changed)
        return self._start(changed)

    def set_level(self, level: transcript_items.TranscriptLevel) -> None:
        """Show more or less from now on."""
        self.level = level
        self._shown = [item for item in self._items if item.level <= level]
        self._count_lines_from(0)

    def open_all(self, is_open: bool) -> None:
        """Open or close all that is shown."""
        for item in self._shown:
            item.is_open = is_open and item.can_open
        self._count_lines_from(0)

    def find_closed_items(self, wanted: str) -> list[int]:
        """Return the numbers of closed shown items with a text below their heads that contains the words.

        Nothing is changed by it, so that it can go on in a thread while the lines are drawn.
        """
        needle = wanted.lower()
        found = []
        for item in list(self._shown):
            if not item.is_open and item.may_contain(needle, self._read_blob) and self._is_below(item, needle):
                found.append(item.number)
        return found

    def _is_below(self, item: transcript_items.TranscriptItem, needle: str) -> bool:
        return any(needle in line.lower() for line in item.iterate_body_lines(self._read_blob))

    def open_items(self, numbers: Iterable[int], *, is_open: bool = True) -> None:
        """Open some items, or close them."""
        for number in numbers:
            item = self._items[number - 1]
            item.is_open = is_open and item.can_open
        self._count_lines_from(0)

    def toggle_item(self, line: int) -> int:
        """Open or close the item of a line; return the line of its head."""
        place = self._find_place_of_line(line)
        item = self._shown[place]
        item.is_open = not item.is_open and item.can_open
        self._count_lines_from(place)
        return self._start(place)

    def copy_with_all_open(self) -> "Transcript":
        """Return another transcript of all recorded events, in which all items are open."""
        other = Transcript(
            self._read_blob, transcript_items.TranscriptLevel.VERBOSE, is_ascii=self._is_ascii, opens_all=True
        )
        for item in self._items:
            copied = replace(item, events=list(item.events), is_open=True)
            copied.is_open = copied.can_open
            other._items.append(copied)
        other._tools = {key: other._items[item.number - 1] for key, item in self._tools.items()}
        other.seq = self.seq
        other.set_level(transcript_items.TranscriptLevel.VERBOSE)
        return other

    @property
    def settled_count(self) -> int:
        """The number of first lines that will never change: a tool at work has more to come."""
        for last in self._items[-1:]:
            if last in self._tools.values() and last.level <= self.level:
                return self._start(len(self._shown) - 1)
        return len(self)

    # --- lines -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._start(len(self._ends))

    def get_line(self, index: int) -> str:
        """Return one line, from 0 on."""
        return self.get_styled_line(index)[0]

    def get_styled_line(self, index: int) -> tuple[str, str]:
        """Return one line with the name of its style."""
        start, end, lines, below = self._near
        if not start <= index < end:  # lines are mostly asked for one after the other
            start, end, lines, below = self._near = self._render_item_at(index)
        return lines[index - start], below[index > start]

    def _render_item_at(self, index: int) -> tuple[int, int, tuple[str, ...], tuple[str, str]]:
        """Return the item at a line: its first line, that of the next one, its lines, the styles of head and text."""
        place = self._find_place_of_line(index)
        item = self._shown[place]
        lines: tuple[str, ...] = (item.render_head(self._is_ascii),)
        if item.is_open:
            lines += self._body(item.number, len(item.events))
        text_style = "dim" * (not isinstance(item.last_event, work.ModelReplied))
        return self._start(place), self._ends[place], lines, (item.style, text_style)

    def get_item_text(self, index: int) -> str:
        """Return the whole text of the item of a line, as it was said, for copying."""
        item = self._shown[self._find_place_of_line(index)]
        texts = [transcript_items.read_whole_text(text, self._read_blob) for _, text in item.texts]
        if texts:
            return "\n".join(texts)
        return item.render_summary()

    # --- where lines are ---------------------------------------------------------------------------------------------

    def _find_place_of_line(self, line: int) -> int:
        """Return the place of the item that a line belongs to."""
        if not 0 <= line < len(self):
            raise IndexError(line)
        return bisect_right(self._ends, line)

    def _start(self, place: int) -> int:
        return self._ends[place - 1] if place else 0

    def _find_place_of_item(self, item: transcript_items.TranscriptItem) -> int:
        """Return the place of a shown item; they stand in the order of their numbers."""
        return bisect_left(self._shown, item.number, key=lambda shown: shown.number)

    def _count_lines_from(self, place: int) -> None:
        """Count the lines anew from an item on."""
        del self._ends[place:]
        self._near = _NOWHERE
        end = self._start(place)
        for item in self._shown[place:]:
            end += item.count_lines(self._read_blob)
            self._ends.append(end)

    def _lines_below(self, number: int, _events: int) -> tuple[str, ...]:
        return tuple(map(_INDENT.__add__, self._items[number - 1].iterate_body_lines(self._read_blob)))
