"""Activities of tasks, files and conversations: a word, a glyph and a style, the same in every view of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Activity(StrEnum):
    """The activity of a conversation, task or file. Its word is always shown; glyphs and colours only underline it.

    Filters take the word or the value; JSON has the value.
    `ask`: a person must answer. `stall`: something was begun and has long been silent. `retry`: it failed and is tried
    again. `pause`: it waits because a person or a limit stopped the run. `stop`: it was given up.
    """

    ASK = "ask"
    STALL = "stall"
    FAIL = "fail"
    JUDGE = "judge"
    MERGE = "merge"
    TEST = "test"
    THINK = "think"
    RUN = "run"
    RETRY = "retry"
    PAUSE = "pause"
    QUEUE = "queue"
    STOP = "stop"
    DONE = "done"

    @property
    def urgency(self) -> int:
        """Its place when sorted by attention, 0 first. What takes turns quickly has one place, so that rows stay."""
        return _URGENCY[self]

    @property
    def style(self) -> str:
        """The name of its style, which is its value."""
        return self.value

    @property
    def word(self) -> str:
        """The word that people read, the same that tasks and files have for it."""
        return _WORDS.get(self, self.value)

    @property
    def filter_values(self) -> tuple[str, ...]:
        """The texts that a filter by state is compared with: its value and its word."""
        return tuple(dict.fromkeys((self.value, self.word)))

    def render_label(self, is_ascii: bool = False) -> str:
        """Return glyph and word: `? ask`."""
        look = ACTIVITY_GLYPHS[self]
        return f"{look.plain if is_ascii else look.glyph} {self.word}"


_WORDS = {
    Activity.JUDGE: "review",
    Activity.MERGE: "landing",
    Activity.TEST: "testing",
    Activity.RUN: "at work",
    Activity.QUEUE: "to do",
}


@dataclass(frozen=True)
class ActivityGlyph:
    """One cell wide each: a glyph, and what stands for it where only ASCII can be shown."""

    glyph: str
    plain: str


ACTIVITY_GLYPHS: Mapping[Activity, ActivityGlyph] = {
    Activity.ASK: ActivityGlyph("?", "?"),
    Activity.STALL: ActivityGlyph("!", "!"),
    Activity.FAIL: ActivityGlyph("✗", "x"),
    Activity.JUDGE: ActivityGlyph("⚖", "J"),
    Activity.MERGE: ActivityGlyph("⇄", "M"),
    Activity.TEST: ActivityGlyph("⚙", "T"),
    Activity.THINK: ActivityGlyph("…", "."),
    Activity.RUN: ActivityGlyph("▶", ">"),
    Activity.RETRY: ActivityGlyph("↻", "r"),
    Activity.PAUSE: ActivityGlyph("‖", "="),
    Activity.QUEUE: ActivityGlyph("○", "o"),
    Activity.STOP: ActivityGlyph("⊘", "-"),
    Activity.DONE: ActivityGlyph("✓", "+"),
}
_IN_TURN = {Activity.TEST, Activity.THINK, Activity.RUN, Activity.RETRY}
_URGENCY = {
    doing: place
    for place, group in enumerate(
        (
            *({Activity.ASK}, {Activity.STALL}, {Activity.FAIL}, {Activity.JUDGE}, {Activity.MERGE}, _IN_TURN),
            *({Activity.PAUSE}, {Activity.QUEUE}, {Activity.STOP}, {Activity.DONE}),
        )
    )
    for doing in group
}
STYLES: tuple[str, ...] = (*(doing.style for doing in Activity), "added", "removed", "title", "dim", "bad", "good")
"""Every name of a style that rows and lines of this package use."""
