"""One assertion of a test: the values it speaks of, and how strictly."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product


class AssertionStrength(IntEnum):
    """The amount that an assertion asks for, from nothing at all to one value alone."""

    NOTHING = 0
    TRUTH = 1
    PART = 2
    CLOSE = 3
    EXACT = 4


@dataclass(frozen=True)
class Assertion:
    """One assertion: the values it speaks of, as dumps of their syntax, and how strictly.

    `tolerance` is how far a value may be off, as far as that is written there; 0 where nothing may be. What
    `is_delegated` is left to a function that is named like a check, and may be more than one assertion.
    """

    line: int
    words: str
    subjects: frozenset[str]
    strength: AssertionStrength
    tolerance: float = 0.0
    is_delegated: bool = False

    @property
    def identity(self) -> tuple[str, frozenset[str], float]:
        """A key that two assertions have in common which ask for the same in the same words."""
        return self.words, self.subjects, self.tolerance

    def is_related_to(self, other: "Assertion") -> bool:
        """Return True if both speak of a common value, or one of something that is made of the other's."""
        return any(one in dump or dump in one for one, dump in product(self.subjects, other.subjects))


def count_assertions(found: Sequence[Assertion]) -> int:
    """Return how many of these assertions ask for anything."""
    return sum(one.strength > AssertionStrength.NOTHING for one in found)
