"""What is known of one symptom, and which union would tell the most about who causes it.

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

from orchestrator.domain.base import Frozen
from orchestrator.domain.symptoms import GATE, hides

LOOKS_AT_FLAKY = 3
"""So often must a union not show a symptom that comes and goes before that counts."""
LOOKS_AT_ALONE = 2
"""So often must a unit alone not show what it is suspected of before partners are searched for."""
LOOKS_AT_BASE = 2
"""So often must the base not show a symptom before anybody is suspected of it."""
LOOKS_AT_PART = 3
"""So often must a pair not show it while one of the two is left out, before that is believed."""
LOOKS_AT_PAIR = 3
"""So often must unions with all units of a pair show what none does that lacks one of them."""
LOOKS_AT_FLAKY_PART = 4
"""So often must each of a pair by itself not show what comes and goes, and `LOOKS_AT_PAIR` times both together."""
_FEW = 8
"""Among so few units one can be looked at without the others, whatever else is in the union."""


class Look(Frozen):
    """What one run of the gate over a union showed; `told` are the symptoms it looked for, None for all there are."""

    members: int
    seen: frozenset[str]
    told: frozenset[str] | None = None

    def says(self, symptom: str) -> bool | None:
        """Whether the symptom is there; None if this run cannot tell."""
        if symptom in self.seen:
            return True
        is_told = self.told is None or symptom in self.told
        return False if is_told and not hides(self.seen, symptom) else None


@dataclass(frozen=True)
class Found:
    """The symptom shows exactly with these units together; none at all if the base shows it now and then."""

    members: int


@dataclass(frozen=True)
class Halve:
    """`suspects` should be split, best by leaving out `without`, which there may be a reason for."""

    suspects: int
    without: int
    has_reason: bool


@dataclass(frozen=True)
class Test:
    """Exactly this union should be tested, as far as the units in `within` go."""

    __test__ = False  # pytest would take it for a test class

    members: int
    within: int


Want = Found | Halve | Test


class Chase:
    """One symptom against all looks so far."""

    def __init__(self, symptom: str, looks: Iterable[Look], union: int, primes: int, is_flaky: bool) -> None:
        said = [(look.members, look.says(symptom)) for look in looks]
        self.present = [members for members, is_there in said if is_there and _is_in(members, union)]
        self._looks = absent = Counter(members for members, is_there in said if is_there is False)
        self.is_flaky = is_flaky or any(_is_in(one, other) for one in self.present for other in absent)
        self.absent = [members for members, times in absent.items() if self._counts(members, times)]
        self.shows_on_base = 0 in self.present
        self._looks_at_base = 0 if symptom == GATE else LOOKS_AT_FLAKY if self.is_flaky else LOOKS_AT_BASE
        self._primes = primes

    def _counts(self, members: int, times: int) -> bool:
        if self.is_flaky:
            return times >= LOOKS_AT_FLAKY and not any(_is_in(one, members) for one in self.present)
        return times >= (LOOKS_AT_ALONE if members.bit_count() == 1 else 1)

    def want(self, guilty: int) -> Want:
        """What to do next, if the units in `guilty` are known to cause other symptoms."""
        if self.shows_on_base:
            return Found(0)
        if self._looks[0] < self._looks_at_base:
            return Test(0, ~0)
        together = reduce(and_, self.present)
        suspects = together & ~reduce(or_, self.absent, 0)
        likely = suspects & self._primes
        if self.absent and likely not in {0, suspects} and likely not in self.present:
            return Test(likely, ~0)
        if suspects.bit_count() > 1:
            return self._halved(suspects, guilty)
        if suspects and suspects not in self.present:
            return Test(suspects, together if 1 < together.bit_count() <= _FEW else ~0)
        return self._proved(Found(suspects)) if suspects else self._exact()

    def _halved(self, suspects: int, guilty: int) -> Halve:
        """Leave out first those who are guilty of other symptoms, then prime suspects, then half of all."""
        for part in (suspects & guilty, suspects & self._primes):
            if part and part != suspects:
                return Halve(suspects, part, has_reason=True)
        return Halve(suspects, suspects & ~lower_half(suspects), has_reason=False)

    def _proved(self, found: Found) -> Want:
        """What was found, after more looks where it could be chance: a test that comes and goes looks like a pair.

        If it is known to come and go, nobody else is in the union: who makes it do so would bear false witness.
        """
        members, within = found.members, ~0 if self.is_flaky else found.members
        if members.bit_count() <= 1:
            return found
        if sum(self._tells(looked, members) for looked in self.present) < LOOKS_AT_PAIR:
            return Test(members, within)
        needed = LOOKS_AT_FLAKY_PART if self.is_flaky else LOOKS_AT_PART
        for rest in (members & ~one for one in singles(members)):
            if sum(times for looked, times in self._looks.items() if self._tells(looked, rest)) < needed:
                return Test(rest, within)
            if not self._looks[rest]:  # in a crowd it may just have been lucky
                return Test(rest, ~0)
        return found

    def _tells(self, looked: int, members: int) -> bool:
        return looked == members if self.is_flaky else _is_in(members, looked)

    def _exact(self) -> Want:
        union = min(self.present, key=lambda members: (members.bit_count(), members))
        core = 0
        while core != union:
            without = [members & union for members in self.absent if _is_in(core, members)]
            if core and not without:
                return Test(core, ~0)
            clean = max(without, key=lambda members: (members.bit_count(), -members), default=0)
            suspects = union & ~clean
            if suspects.bit_count() != 1:
                return Test(clean | self._likeliest(suspects), ~0)
            core |= suspects
        return self._proved(Found(core))

    def _likeliest(self, suspects: int) -> int:
        part = suspects & self._primes
        return part if part and part != suspects else lower_half(suspects)


def lower_half(members: int) -> int:
    """The first half of a set, in landing order; the larger one."""
    wanted, half = (members.bit_count() + 1) // 2, 0
    for one in singles(members)[:wanted]:
        half |= one
    return half


def singles(members: int) -> Sequence[int]:
    """The sets of one member each, in landing order."""
    found = []
    while members:
        one = members & -members
        found.append(one)
        members ^= one
    return found


def _is_in(part: int, whole: int) -> bool:
    return part & ~whole == 0
