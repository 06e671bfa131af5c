"""The search for the guilty of a red union, over all its symptoms at once, as a pure function of what was looked at.

Each symptom has suspects of its own. A trial leaves out half of the suspects of as many symptoms as it can, so that
the culprits of many tests are found in about as many runs as one would take. The same looks always lead to the same
question: a search that was interrupted goes on when it is given the receipts that exist.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, MISSING_SUFFIX, SKIPPED_SUFFIX
from orchestrator.ports.gate import GateResult
from orchestrator.queue import symptom_search
from orchestrator.queue.symptom_search import FoundCause, RunUnion, SearchStep, SplitSuspects, UnionResult

_MOST_GROUPS = 24
"""With more groups of symptoms than this, evidence that concerns only one of them is left aside."""


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
class _SymptomGroup:
    """Symptoms that every run has shown alike; the first stands for all."""

    symptoms: tuple[str, ...]
    search: symptom_search.SymptomSearch

    @property
    def symptom(self) -> str:
        return self.symptoms[0]


class CulpritSearch(FrozenModel):
    """A search in `union` for those who cause `targets`.

    `prime_suspects` are those of a symptom, as far as there is evidence. `flaky` are symptoms that come and go.
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
        searches = self._group_symptoms()
        steps, found = _settle_steps(searches)
        probe = None
        if GATE_SYMPTOM not in found:
            probe = self._choose_probe(steps, symptom_search.union_sets(cause.members for cause in found.values()))
        if probe is None:
            return _list_causes(searches, found)
        symptoms: list[str] = []
        for group in searches:
            if group.symptom in probe.symptoms:
                symptoms += group.symptoms
        return probe.model_copy(update={"symptoms": tuple(symptoms)})

    def _group_symptoms(self) -> Sequence[_SymptomGroup]:
        groups = self._group_alike(self.prime_suspects)
        if len(groups) > _MOST_GROUPS:
            groups = self._group_alike({})
        searches = []
        for group in groups:
            primes = symptom_search.union_sets(self.prime_suspects.get(symptom, 0) for symptom in group) & self.union
            search = symptom_search.SymptomSearch(group[0], self.results, self.union, primes, group[0] in self.flaky)
            searches.append(_SymptomGroup(tuple(group), search))
        return searches

    def _group_alike(self, primes: Mapping[str, int]) -> Sequence[Sequence[str]]:
        """Return the symptoms as groups that every run has shown alike."""
        groups: dict[object, list[str]] = {}
        for symptom in sorted(self.targets, key=_rank_visibility):
            shown = tuple(result.shows_symptom(symptom) for result in self.results)
            kind = (shown, primes.get(symptom, 0), symptom in self.flaky, symptom == GATE_SYMPTOM)
            groups.setdefault(kind, []).append(symptom)
        return list(groups.values())

    def _choose_probe(self, steps: Mapping[str, SearchStep], guilty: int) -> UnionProbe | None:
        if GATE_SYMPTOM in steps:
            steps = {GATE_SYMPTOM: steps[GATE_SYMPTOM]}
        splits: dict[str, SplitSuspects] = {}
        runs: dict[str, RunUnion] = {}
        exact: dict[str, RunUnion] = {}
        for symptom, step in steps.items():
            if isinstance(step, SplitSuspects):
                splits[symptom] = step
            elif isinstance(step, RunUnion):
                runs[symptom] = step
                if step.within < 0:
                    exact[symptom] = step
        return self._probe_runs(exact) or self._probe_splits(splits, runs, guilty) or self._probe_runs(runs)

    def _probe_splits(
        self, wants: Mapping[str, SplitSuspects], tests: Mapping[str, RunUnion], guilty: int
    ) -> UnionProbe | None:
        members, split = self.union & ~guilty, dict[str, int]()
        for symptom, want in wants.items():
            less = members
            if want.has_reason or members & want.suspects == want.suspects:
                less = members & ~want.without
            if _splits_all(less, (*split.values(), want.suspects)):
                members, split[symptom] = less, want.suspects
        if not split:
            return None
        members, along = _include_runs(members, split, tests)
        return self._build_probe(members, (*split, *along))

    def _probe_runs(self, wants: Mapping[str, RunUnion]) -> UnionProbe | None:
        members, taken = 0, dict[str, RunUnion]()
        for symptom, want in wants.items():
            if self._is_useless(want.members, symptom):
                continue
            union, both = members | want.members, {**taken, symptom: want}
            is_exact = all(union & one.within == one.members & one.within for one in both.values())
            if is_exact and not any(self._is_useless(union, one) for one in both):
                members, taken = union, both
        return self._build_probe(members, taken)

    def _build_probe(self, members: int, symptoms: Iterable[str]) -> UnionProbe | None:
        useful = tuple(symptom for symptom in symptoms if not self._is_useless(members, symptom))
        if not useful:
            return None
        is_known = any(
            result.shows_symptom(symptom) is not None for result in self._list_results(members) for symptom in useful
        )
        return UnionProbe(members=members, symptoms=useful, fresh=is_known)

    def _is_useless(self, members: int, symptom: str) -> bool:
        """Return True if looking at this very union again would tell nothing of the symptom."""
        shown_count = 0
        for result in self._list_results(members):
            is_shown = result.shows_symptom(symptom)
            shown_count += is_shown is True
            if is_shown is None and (result.searched is None or symptom in result.searched):
                return True  # something hid it
        return shown_count >= symptom_search.RUNS_FOR_PAIR

    def _list_results(self, members: int) -> Sequence[UnionResult]:
        return [result for result in self.results if result.members == members]


def _settle_steps(searches: Sequence[_SymptomGroup]) -> tuple[Mapping[str, SearchStep], Mapping[str, FoundCause]]:
    """Return the next step of each symptom that is open, and the causes found: each may lead to another one."""
    found: dict[str, FoundCause] = {}
    while True:
        guilty = symptom_search.union_sets(cause.members for cause in found.values())
        causes: dict[str, FoundCause] = {}
        steps: dict[str, SearchStep] = {}
        for group in searches:
            step = group.search.choose_next_step(guilty)
            if isinstance(step, FoundCause):
                causes[group.symptom] = step
            else:
                steps[group.symptom] = step
        if causes.keys() == found.keys():
            return steps, found
        found = causes


def _list_causes(searches: Sequence[_SymptomGroup], found: Mapping[str, FoundCause]) -> tuple[SymptomCause, ...]:
    causes: dict[int, list[str]] = {}
    for group in searches:
        if group.symptom in found:
            causes.setdefault(found[group.symptom].members, []).extend(group.symptoms)
    return tuple(SymptomCause(members=members, symptoms=tuple(symptoms)) for members, symptoms in causes.items())


def _include_runs(members: int, split: Mapping[str, int], runs: Mapping[str, RunUnion]) -> tuple[int, Sequence[str]]:
    """Return a union that splits suspects, changed so that it also answers runs which concern few units."""
    taken: dict[str, RunUnion] = {}
    for symptom, run in runs.items():
        changed = members & ~run.within | run.members
        both = {**taken, symptom: run}
        is_exact = all(changed & one.within == one.members for one in both.values())
        if run.within > 0 and is_exact and _splits_all(changed, split.values()):
            members, taken = changed, both
    return members, tuple(taken)


def _splits_all(members: int, suspect_sets: Iterable[int]) -> bool:
    return all(members & suspects not in {0, suspects} for suspects in suspect_sets)


def _rank_visibility(symptom: str) -> tuple[bool, bool, str]:
    return (symptom != GATE_SYMPTOM, symptom.endswith((MISSING_SUFFIX, SKIPPED_SUFFIX)), symptom)


class SuspectEvidence:
    """Evidence against units. By itself there is none: everybody is as suspect as everybody else."""

    async def find_prime_suspects(
        self, _commit: CommitId, _result: GateResult, _symptoms: Sequence[str], _units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Return, by symptom of a result on a commit, the units that its text or its test's sources point at."""
        return {}
