"""What the things of a run are doing, in a word, a glyph and the name of a style: the same in every view of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Doing(StrEnum):
    """What a conversation, a task or a file is doing. The word is always shown; glyphs and colours only underline it.

    ask: a person must answer. stall: something was begun and nothing has been heard of it for long. retry: it failed
    and is tried again. pause: it waits because a person or a limit stopped the run. stop: given up.
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
        """The name of its style, which is its word."""
        return self.value

    def shown(self, is_ascii: bool = False) -> str:
        """Glyph and word: `? ask`."""
        look = LOOKS[self]
        return f"{look.plain if is_ascii else look.glyph} {self}"


@dataclass(frozen=True)
class Look:
    """One cell wide each: a glyph, and what stands for it where only ASCII can be shown."""

    glyph: str
    plain: str


LOOKS: Mapping[Doing, Look] = {
    Doing.ASK: Look("?", "?"),
    Doing.STALL: Look("!", "!"),
    Doing.FAIL: Look("✗", "x"),
    Doing.JUDGE: Look("⚖", "J"),
    Doing.MERGE: Look("⇄", "M"),
    Doing.TEST: Look("⚙", "T"),
    Doing.THINK: Look("…", "."),
    Doing.RUN: Look("▶", ">"),
    Doing.RETRY: Look("↻", "r"),
    Doing.PAUSE: Look("‖", "="),
    Doing.QUEUE: Look("○", "o"),
    Doing.STOP: Look("⊘", "-"),
    Doing.DONE: Look("✓", "+"),
}
_IN_TURN = {Doing.TEST, Doing.THINK, Doing.RUN, Doing.RETRY}
_URGENCY = {
    doing: place
    for place, group in enumerate(
        (
            *({Doing.ASK}, {Doing.STALL}, {Doing.FAIL}, {Doing.JUDGE}, {Doing.MERGE}, _IN_TURN),
            *({Doing.PAUSE}, {Doing.QUEUE}, {Doing.STOP}, {Doing.DONE}),
        )
    )
    for doing in group
}
STYLES: tuple[str, ...] = (*(doing.style for doing in Doing), "added", "removed", "title", "dim", "bad", "good")
"""Every name of a style that rows and lines of this package use."""
