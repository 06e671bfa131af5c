"""The search for the guilty of a red union, over all its symptoms at once, as a pure function of what was looked at.

Each symptom has suspects of its own. A trial leaves out half of the suspects of as many symptoms as it can, so that
the culprits of many tests are found in about as many runs as one would take. The same looks always lead to the same
question: a search that was interrupted goes on when it is given the receipts that exist.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, MISSING_SUFFIX, SKIPPED_SUFFIX
from orchestrator.queue.symptom_search import (
    RUNS_FOR_PAIR,
    FoundCause,
    RunUnion,
    SearchStep,
    SplitSuspects,
    SymptomSearch,
    UnionResult,
)

_MOST_CHASES = 24
"""With more different symptoms than this, evidence that concerns only one of them is left aside."""


class UnionProbe(FrozenModel):
    """A union to test for these symptoms; `fresh` if the same union has been looked at and has to be again."""

    members: int
    symptoms: tuple[str, ...]
    fresh: bool = False


class SymptomCause(FrozenModel):
    """Units that bring about symptoms: alone if it is one, else only together."""

    members: int
    symptoms: tuple[str, ...]


@dataclass(frozen=True)
class _Chased:
    """Symptoms that every run has shown alike; the first stands for all."""

    symptoms: tuple[str, ...]
    chase: SymptomSearch

    @property
    def symptom(self) -> str:
        return self.symptoms[0]


class CulpritSearch(FrozenModel):
    """A search in `union` for those who cause `targets`.

    `primes` are the prime suspects of a symptom, as far as there is evidence. `flaky` are symptoms that come and go.
    """

    union: int
    targets: tuple[str, ...]
    results: tuple[UnionResult, ...]
    prime_suspects: Mapping[str, int] = Field(default_factory=dict)
    flaky: frozenset[str] = frozenset()

    def choose_next_step(self) -> UnionProbe | tuple[SymptomCause, ...]:
        """Return what to look at next; or, when there is nothing more to be learnt, every cause that was found.

        A hang is found first and alone, for it hides everything else.
        """
        chases, found = self._chases(), dict[str, FoundCause]()
        while True:
            guilty = _union(one.members for one in found.values())
            wants = {}
            for one in chases:
                wants[one.symptom] = one.chase.choose_next_step(guilty)
            known = {}
            for symptom, want in wants.items():
                if isinstance(want, FoundCause):
                    known[symptom] = want
            if known.keys() == found.keys():
                break
            found = known
        open_ones = {}
        for symptom, want in wants.items():
            if symptom not in found:
                open_ones[symptom] = want
        ask = None if GATE_SYMPTOM in found else self._ask(open_ones, guilty)
        if ask is None:
            return self._causes(chases, found)
        alike = []
        for one in chases:
            if one.symptom in ask.symptoms:
                for symptom in one.symptoms:
                    alike.append(symptom)
        return ask.model_copy(update={"symptoms": tuple(alike)})

    def _chases(self) -> Sequence[_Chased]:
        groups = self._alike(self.prime_suspects)
        if len(groups) > _MOST_CHASES:
            groups = self._alike({})
        return [
            _Chased(
                tuple(group),
                SymptomSearch(group[0], self.results, self.union, self._prime(group), group[0] in self.flaky),
            )
            for group in groups
        ]

    def _alike(self, primes: Mapping[str, int]) -> Sequence[Sequence[str]]:
        groups: dict[object, list[str]] = {}
        for symptom in sorted(self.targets, key=_easily_seen_first):
            said = tuple(look.shows_symptom(symptom) for look in self.results)
            kind = (said, primes.get(symptom, 0), symptom in self.flaky, symptom == GATE_SYMPTOM)
            groups.setdefault(kind, []).append(symptom)
        return list(groups.values())

    def _prime(self, group: Sequence[str]) -> int:
        return _union(self.prime_suspects.get(symptom, 0) for symptom in group) & self.union

    def _ask(self, wants: Mapping[str, SearchStep], guilty: int) -> UnionProbe | None:
        halves = {}
        for symptom, want in wants.items():
            if isinstance(want, SplitSuspects):
                halves[symptom] = want
        tests = {}
        for symptom, want in wants.items():
            if isinstance(want, RunUnion):
                tests[symptom] = want
        if GATE_SYMPTOM in wants:
            halves = {symptom: want for symptom, want in halves.items() if symptom == GATE_SYMPTOM}
            tests = {symptom: want for symptom, want in tests.items() if symptom == GATE_SYMPTOM}
        alone = {}
        for symptom, want in tests.items():
            if want.within < 0:
                alone[symptom] = want
        return self._testing(alone) or self._halving(halves, tests, guilty) or self._testing(tests)

    def _halving(
        self, wants: Mapping[str, SplitSuspects], tests: Mapping[str, RunUnion], guilty: int
    ) -> UnionProbe | None:
        members, split = self.union & ~guilty, dict[str, int]()
        for symptom, want in wants.items():
            is_whole = members & want.suspects == want.suspects
            if is_whole or want.has_reason:
                less = members & ~want.without
            else:
                less = members
            if all(_splits(less, suspects) for suspects in (*split.values(), want.suspects)):
                members, split[symptom] = less, want.suspects
        if not split:
            return None
        members, along = self._with_tests(members, split, tests)
        return self._put(members, (*split, *along))

    def _with_tests(
        self, members: int, split: Mapping[str, int], tests: Mapping[str, RunUnion]
    ) -> tuple[int, Sequence[str]]:
        """Return a union that splits suspects, changed so that it answers tests as well which concern few units."""
        taken: dict[str, RunUnion] = {}
        for symptom, want in tests.items():
            changed = members & ~want.within | want.members
            both = {**taken, symptom: want}
            is_exact = all(changed & one.within == one.members for one in both.values())
            if want.within > 0 and is_exact and all(_splits(changed, suspects) for suspects in split.values()):
                members, taken = changed, both
        return members, tuple(taken)

    def _testing(self, wants: Mapping[str, RunUnion]) -> UnionProbe | None:
        members, taken = 0, dict[str, RunUnion]()
        for symptom, want in wants.items():
            if self._is_hidden(want.members, symptom):
                continue
            union, both = members | want.members, {**taken, symptom: want}
            is_exact = all(union & one.within == one.members & one.within for one in both.values())
            if is_exact and not any(self._is_hidden(union, one) for one in both):
                members, taken = union, both
        return self._put(members, taken)

    def _put(self, members: int, symptoms: Iterable[str]) -> UnionProbe | None:
        useful = tuple(symptom for symptom in symptoms if not self._is_hidden(members, symptom))
        if not useful:
            return None
        before = []
        for look in self.results:
            if look.members == members:
                before.append(look)
        is_known = any(look.shows_symptom(symptom) is not None for look in before for symptom in useful)
        return UnionProbe(members=members, symptoms=useful, fresh=is_known)

    def _is_hidden(self, members: int, symptom: str) -> bool:
        """Return True if looking at this very union again would tell nothing of the symptom."""
        looks = []
        for look in self.results:
            if look.members == members:
                looks.append(look)
        if sum(look.shows_symptom(symptom) is True for look in looks) >= RUNS_FOR_PAIR:
            return True
        return any(
            look.shows_symptom(symptom) is None and (look.searched is None or symptom in look.searched)
            for look in looks
        )

    def _causes(self, chases: Sequence[_Chased], found: Mapping[str, FoundCause]) -> tuple[SymptomCause, ...]:
        causes: dict[int, list[str]] = {}
        for one in chases:
            if one.symptom in found:
                causes.setdefault(found[one.symptom].members, []).extend(one.symptoms)
        return tuple(SymptomCause(members=members, symptoms=tuple(symptoms)) for members, symptoms in causes.items())


def _splits(members: int, suspects: int) -> bool:
    return members & suspects not in {0, suspects}


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _easily_seen_first(symptom: str) -> tuple[bool, bool, str]:
    return (symptom != GATE_SYMPTOM, symptom.endswith((MISSING_SUFFIX, SKIPPED_SUFFIX)), symptom)
