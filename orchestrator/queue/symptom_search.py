"""The knowledge of one symptom, and which union would tell the most about who causes it.

Sets of units are bit masks. A cause is a set of units with which the symptom shows and without any of which it does
not: one unit, or several that only fail together. At first a single one is supposed, for then every look at any union
helps. What contradicts that leads to an exact search, in which each unit found is proved to be needed: the smallest
union that shows the symptom, less the largest part of it that does not, is halved until one unit is left; it stays in
while its partners are searched for in the same way.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, can_hide_symptom

RUNS_FOR_FLAKY = 3
"""So often must a union not show a symptom that comes and goes before that counts."""
RUNS_FOR_SINGLE_UNIT = 2
"""So often must a unit alone not show what it is suspected of before partners are searched for."""
RUNS_FOR_BASE = 2
"""So often must the base not show a symptom before anybody is suspected of it."""
RUNS_FOR_PAIR_PART = 3
"""So often must a pair not show it while one of the two is left out, before that is believed."""
RUNS_FOR_PAIR = 3
"""So often must unions with all units of a pair show what none does that lacks one of them."""
RUNS_FOR_FLAKY_PAIR_PART = 4
"""So often must each of a pair by itself not show what comes and goes, and `RUNS_FOR_PAIR` times both together."""
_FEW = 8
"""Among so few units one can be looked at without the others, whatever else is in the union."""


def select_lower_half(members: int) -> int:
    """Return the first half of a set, in landing order; the larger one."""
    wanted, half = (members.bit_count() + 1) // 2, 0
    for one in split_members(members)[:wanted]:
        half |= one
    return half


def split_members(members: int) -> Sequence[int]:
    """Return the sets of one member each, in landing order."""
    found = []
    while members:
        one = members & -members
        found.append(one)
        members ^= one
    return found


def is_subset(part: int, whole: int) -> bool:
    """Return True if `whole` has every member of `part`."""
    return part & ~whole == 0


def union_sets(sets: Iterable[int]) -> int:
    """Return the members of all the sets."""
    return reduce(or_, sets, 0)


class UnionResult(FrozenModel):
    """The symptoms that one run of the gate over a union showed; it looked for those in `searched`, None for all."""

    members: int
    symptoms: frozenset[str]
    searched: frozenset[str] | None = None

    def shows_symptom(self, symptom: str) -> bool | None:
        """Return True if the symptom is there; None if this run cannot tell."""
        if symptom in self.symptoms:
            return True
        was_searched = self.searched is None or symptom in self.searched
        if was_searched and not can_hide_symptom(self.symptoms, symptom):
            return False
        return None


@dataclass(frozen=True)
class FoundCause:
    """The symptom shows exactly with these units together; none at all if the base shows it now and then."""

    members: int


@dataclass(frozen=True)
class SplitSuspects:
    """`suspects` should be split, best by leaving out `without`, which there may be a reason for."""

    suspects: int
    without: int
    has_reason: bool


@dataclass(frozen=True)
class RunUnion:
    """Exactly this union should be tested, as far as the units in `within` go."""

    __test__ = False  # pytest would take it for a test class

    members: int
    within: int


SearchStep = FoundCause | SplitSuspects | RunUnion


class SymptomSearch:
    """One symptom against all looks so far."""

    def __init__(self, symptom: str, looks: Iterable[UnionResult], union: int, primes: int, is_flaky: bool) -> None:
        said = [(look.members, look.shows_symptom(symptom)) for look in looks]
        self.red_unions = [members for members, is_there in said if is_there and is_subset(members, union)]
        self._looks = absent = Counter(members for members, is_there in said if is_there is False)
        self.is_flaky = is_flaky or any(is_subset(one, other) for one in self.red_unions for other in absent)
        self.clean_unions = [members for members, times in absent.items() if self._is_conclusive(members, times)]
        self.shows_on_base = 0 in self.red_unions
        self._looks_at_base = 0 if symptom == GATE_SYMPTOM else RUNS_FOR_FLAKY if self.is_flaky else RUNS_FOR_BASE
        self._primes = primes

    def _is_conclusive(self, members: int, times: int) -> bool:
        if self.is_flaky:
            return times >= RUNS_FOR_FLAKY and not any(is_subset(one, members) for one in self.red_unions)
        return times >= (RUNS_FOR_SINGLE_UNIT if members.bit_count() == 1 else 1)

    def choose_next_step(self, guilty: int) -> SearchStep:
        """Return what to do next, if the units in `guilty` are known to cause other symptoms."""
        if self.shows_on_base:
            return FoundCause(0)
        if self._looks[0] < self._looks_at_base:
            return RunUnion(0, ~0)
        together = reduce(and_, self.red_unions)
        suspects = together & ~reduce(or_, self.clean_unions, 0)
        likely = suspects & self._primes
        if self.clean_unions and likely not in {0, suspects} and likely not in self.red_unions:
            return RunUnion(likely, ~0)
        if suspects.bit_count() > 1:
            return self._split_suspects(suspects, guilty)
        if suspects and suspects not in self.red_unions:
            return RunUnion(suspects, together if 1 < together.bit_count() <= _FEW else ~0)
        if suspects:
            return self._prove_cause(FoundCause(suspects))
        return self._search_exactly()

    def _split_suspects(self, suspects: int, guilty: int) -> SplitSuspects:
        """Leave out first those who are guilty of other symptoms, then prime suspects, then half of all."""
        for part in (suspects & guilty, suspects & self._primes):
            if part and part != suspects:
                return SplitSuspects(suspects, part, has_reason=True)
        return SplitSuspects(suspects, suspects & ~select_lower_half(suspects), has_reason=False)

    def _prove_cause(self, found: FoundCause) -> SearchStep:
        """Return what was found, after more looks where it could be chance: a flaky test looks like a pair.

        If it is known to come and go, nobody else is in the union: who makes it do so would bear false witness.
        """
        members, within = found.members, ~0 if self.is_flaky else found.members
        if members.bit_count() <= 1:
            return found
        if sum(self._shows_members(looked, members) for looked in self.red_unions) < RUNS_FOR_PAIR:
            return RunUnion(members, within)
        needed = RUNS_FOR_FLAKY_PAIR_PART if self.is_flaky else RUNS_FOR_PAIR_PART
        for rest in (members & ~one for one in split_members(members)):
            if sum(times for looked, times in self._looks.items() if self._shows_members(looked, rest)) < needed:
                return RunUnion(rest, within)
            if not self._looks[rest]:  # in a crowd it may just have been lucky
                return RunUnion(rest, ~0)
        return found

    def _shows_members(self, looked: int, members: int) -> bool:
        return looked == members if self.is_flaky else is_subset(members, looked)

    def _search_exactly(self) -> SearchStep:
        union = min(self.red_unions, key=lambda members: (members.bit_count(), members))
        core = 0
        while core != union:
            without = [members & union for members in self.clean_unions if is_subset(core, members)]
            if core and not without:
                return RunUnion(core, ~0)
            clean = max(without, key=lambda members: (members.bit_count(), -members), default=0)
            suspects = union & ~clean
            if suspects.bit_count() != 1:
                return RunUnion(clean | self._choose_likeliest(suspects), ~0)
            core |= suspects
        return self._prove_cause(FoundCause(core))

    def _choose_likeliest(self, suspects: int) -> int:
        part = suspects & self._primes
        return part if part and part != suspects else select_lower_half(suspects)
