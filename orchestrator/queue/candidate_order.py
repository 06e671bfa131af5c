"""The order in which candidates are tried: those that are likely to land first, and nobody is passed over for long."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.domain.ids import UnitId

MOST_SKIPS = 3
"""A candidate that was passed over so often goes first."""


@dataclass(frozen=True)
class CandidateFacts:
    """The facts that a candidate's place depends on.

    Attributes:
        unit: the candidate.
        needs: units that have to land before it.
        pass_rate: the predicted chance that it is green.
        size: the lines that it changes.
        age: its place in the order in which candidates were queued; lower is older.
        skips: how often others landed and it was not tried.
    """

    unit: UnitId
    needs: frozenset[UnitId] = frozenset()
    pass_rate: float = 1.0
    size: int = 0
    age: int = 0
    skips: int = 0


def order_candidates(candidates: Iterable[CandidateFacts]) -> tuple[UnitId, ...]:
    """Return the candidates that need none of the others, best first; the rest waits until what it needs has landed."""
    facts = list(candidates)
    queued = {one.unit for one in facts}
    ready = [one for one in facts if queued.isdisjoint(one.needs)]
    return tuple(one.unit for one in sorted(ready, key=_rank_candidate))


def _rank_candidate(candidate: CandidateFacts) -> tuple[bool, float, int, int]:
    return (candidate.skips < MOST_SKIPS, -candidate.pass_rate, candidate.size, candidate.age)
