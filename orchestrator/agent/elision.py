"""Leaving out of a conversation what is old and long, in steps: in between, every request extends the one before."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.agent.context_size import ContextMeter
from orchestrator.agent.turn import Turn, count_chars
from orchestrator.domain.chat import Message
from orchestrator.llm.reasoning_rules import ReasoningRule

ELIDE_ABOVE_SHARE = 0.6
"""Share of the context at which old observations and written texts are left out."""
ELIDE_DOWN_TO_SHARE = 0.3
"""Share of the context that the latest turns may keep whole then."""
ELIDE_AT_LEAST_SHARE = 0.2
"""Share of the context that leaving out must free: as long as it takes to fill that again, every request extends the
one before."""
CARRY_OVER_SHARE = 0.8
"""Share of the context at which a conversation is carried over into a fresh one. Half the least is worth leaving out
before that."""
ASKED_WHOLE_SHARE = 0.9
"""Share of the context up to which the request for a carryover extends the one before. Beyond it there would be no
room for an answer: then all turns lose what can be left out."""
WHOLE_LATEST_TURNS = 2
"""The latest turns that always stay whole."""
ConversationPiece = Message | Turn
"""A piece of a conversation: words of the harness, or a turn."""


class ElidedTurns(NamedTuple):
    """The number of first turns that lose their long texts, and of those that lose their thinking too."""

    texts: int
    thinking: int


class Elision:
    """The turns of a conversation that are elided. They grow in steps, never when nothing was said."""

    def __init__(
        self, context_tokens: int, rule: ReasoningRule, first: int, system_chars: int, tool_chars: int = 0
    ) -> None:
        """Set up for turns of which the first has the index `first`, after a system's message of so many characters.

        `rule` says which thinking has to stay, `tool_chars` is the size of the tools on offer.
        """
        self.meter = ContextMeter(tool_chars)
        self._context_tokens = context_tokens
        self._rule = rule
        self._first = first
        self._turns: list[Turn] = []
        self._seen = self._boundary = self._thoughtless = self._whole = 0
        self._size = system_chars

    def is_above(self, share: float) -> bool:
        """Return True if the request fills more than a share of the context."""
        return self.meter.count_tokens(self._size) > self._context_tokens * share

    def elide_all(self) -> ElidedTurns:
        """Return what is left out where no turn can stay whole."""
        count = len(self._turns)
        return ElidedTurns(self._first + count, self._first + min(count, self._find_open_loop()))

    def elide_old(self, pieces: Sequence[ConversationPiece]) -> ElidedTurns:
        """Return what is left out, after what was added since."""
        for piece in pieces[self._seen :]:
            if isinstance(piece, Turn):
                self.meter.record_request(self._size, piece.usage)
                self._turns.append(piece)
                size = self._measure_turn(len(self._turns) - 1)
                self._whole += size
                self._size += size
            else:
                self._size += piece.size_chars
            if self.is_above(ELIDE_ABOVE_SHARE):
                self._elide()
        self._seen = len(pieces)
        return ElidedTurns(self._first + self._boundary, self._first + self._thoughtless)

    def _elide(self) -> None:
        least = ELIDE_AT_LEAST_SHARE
        if self.is_above(CARRY_OVER_SHARE):
            least /= 2
        open_loop = self._find_open_loop()
        boundary, whole, size = self._find_boundary(open_loop)
        if self.meter.measure_words(self._size - size) >= least * self._context_tokens:
            self._boundary, self._whole, self._size = boundary, whole, size
            self._thoughtless = max(self._thoughtless, min(boundary, open_loop))

    def _find_boundary(self, open_loop: int) -> tuple[int, int, int]:
        """Return how many turns to elide, and how large the whole ones and all of it would be then."""
        boundary, whole, size = self._boundary, self._whole, self._size
        low = self._context_tokens * ELIDE_DOWN_TO_SHARE
        target = self._context_tokens * (ELIDE_ABOVE_SHARE - ELIDE_AT_LEAST_SHARE)
        meter, last = self.meter, len(self._turns) - WHOLE_LATEST_TURNS
        while boundary < last and (meter.measure_words(whole) > low or meter.count_tokens(size) > target):
            chars = self._measure_turn(boundary)
            whole -= chars
            index, thinks = self._first + boundary, boundary >= open_loop
            left = self._turns[boundary].build_messages(index, is_elided=True, thinks=thinks)
            size += count_chars(left, self._rule) - chars
            boundary += 1
        return boundary, whole, size

    def _measure_turn(self, place: int) -> int:
        messages = self._turns[place].build_messages(self._first + place, is_elided=False)
        return count_chars(messages, self._rule)

    def _find_open_loop(self) -> int:
        """Return the first turn whose thinking has to stay, whatever else of it is elided."""
        if self._rule is ReasoningRule.ALL:
            return 0
        if self._rule is ReasoningRule.OPTIONAL:
            return len(self._turns)
        for place in range(len(self._turns) - 1, -1, -1):
            if not self._turns[place].tool_calls:
                return place + 1
        return 0
