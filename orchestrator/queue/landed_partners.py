"""Tests of unions for symptoms, and the search for partners of the guilty among what landed before.

A unit that is red alone on top of what landed may be red only with some of that. If the symptom is gone as soon as
everything that landed is taken back, a search over it finds whom the unit is red together with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import collect_symptoms
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.gate import GateResult
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import Composer, UnitConflict
from orchestrator.queue.culprit_search import CulpritSearch, SuspectEvidence, SymptomCause, UnionProbe
from orchestrator.queue.pr_branch import LandingTools
from orchestrator.queue.symptom_search import RUNS_FOR_FLAKY, UnionResult

_MOST_PROBES = 200
"""A search that has asked so often is going round in circles, as tests that come and go can make it do."""


_MOST_SOUGHT = 8
"""For no more of the guilty of one round partners are sought: a name is worth some runs, and changes no verdict."""
_PROBES_A_HALVING, _PROBES_MORE = 4, 12
"""After so many probes for each time that what landed can be halved, and so many more, partners are given up."""


class UnionClash(Exception):
    """A union cannot be tested: a unit conflicts without units that a larger union holds. Halving decides then."""


class UnionTester:
    """Groups of units as bits, in landing order, on top of one head; with everything that was seen of their unions.

    `standing` are groups that landed already. Testing a union without one of them reverts it: to the composer each of
    their units means that it is taken back.
    """

    def __init__(
        self,
        tools: LandingTools,
        composer: Composer,
        name: str,
        head: CommitId,
        groups: Sequence[Units],
        standing: Sequence[Units] = (),
    ) -> None:
        self._tools = tools
        self._composer = composer
        self._name = name
        self._head = head
        self._groups = [*groups, *standing]
        self._new = (1 << len(groups)) - 1
        self.results: list[UnionResult] = []

    @property
    def full_union(self) -> int:
        """The union of all groups."""
        return (1 << len(self._groups)) - 1

    async def find_causes(
        self,
        union: int,
        targets: Sequence[str],
        primes: Mapping[str, int],
        flaky: frozenset[str] = frozenset(),
        most: int = _MOST_PROBES,
    ) -> tuple[tuple[SymptomCause, ...], dict[int, GateResult]]:
        """Return the causes in `union` of `targets`, none after `most` probes, and each union's last probe."""
        probes: dict[int, GateResult] = {}
        for _ in range(most):
            search = CulpritSearch(
                union=union, targets=tuple(targets), results=tuple(self.results), prime_suspects=primes, flaky=flaky
            )
            step = search.choose_next_step()
            if not isinstance(step, UnionProbe):
                return step, probes
            probes[step.members] = await self.probe_union(step)
        return (), probes

    async def probe_union(self, ask: UnionProbe) -> GateResult:
        """Look at a union for some symptoms.

        Raises:
            UnionClash: its units conflict, although those of a larger union did not.
        """
        units, taken_back = self.list_units(ask.members & self._new), self.list_units(~ask.members & ~self._new)
        composed = await self._composer.compose_union(self._head, (*units, *taken_back))
        if isinstance(composed, UnitConflict):
            raise UnionClash(f"{composed.unit} conflicts with a part of what it did not conflict with as a whole")
        look = sum(one.members == ask.members for one in self.results)
        purpose = Purpose.for_queue(self._name)
        result = await self._tools.gate.probe_tree(composed.commit, composed.tree, purpose, ask.symptoms, look)
        seen = collect_symptoms(result.difference)
        searched = None if result.is_whole else frozenset(ask.symptoms)
        self.results.append(UnionResult(members=ask.members, symptoms=seen, searched=searched))
        await self._tools.record_trial(
            self._name,
            units,
            result,
            taken_back=len(taken_back),
            is_second_look=ask.fresh,
            symptoms=ask.symptoms,
            seen=tuple(sorted(seen.intersection(ask.symptoms))),
        )
        return result

    def list_groups(self, union: int) -> list[Units]:
        """Return the groups of a union."""
        return [group for place, group in enumerate(self._groups) if union >> place & 1]

    def list_units(self, union: int) -> Units:
        """Return the units of a union."""
        return tuple(unit for group in self.list_groups(union) for unit in group)

    def build_union(self, units: Sequence[UnitId]) -> int:
        """Return the union of the groups of these units."""
        wanted = set(units)
        return sum(1 << place for place, group in enumerate(self._groups) if wanted.intersection(group))


@dataclass(frozen=True)
class LandedGroups:
    """Groups that landed before and stay together; each of their units means to `composer` that it is taken back.

    The other units mean to it what they mean to the composer of the round.
    """

    groups: Sequence[Units]
    composer: Composer


@dataclass(frozen=True)
class CulpritUnits:
    """Units that stay together and that make tests red every time, and what the gate said of a union with them."""

    units: Units
    symptoms: tuple[str, ...]
    result: GateResult


@dataclass(frozen=True)
class PartnerSearch:
    """The search for partners of one round's guilty."""

    _tools: LandingTools
    _name: str
    _head: CommitId
    _landed: LandedGroups
    _evidence: SuspectEvidence

    async def find_partners(self, guilty: Sequence[CulpritUnits]) -> Mapping[UnitId, Units]:
        """Return what landed before and is needed to make each unit red; units of which nothing is are not named."""
        found: dict[UnitId, Units] = {}
        for one in (await self._select_dependent(guilty))[:_MOST_SOUGHT]:
            found |= dict.fromkeys(one.units, await self._find_partners_of(one))
        return found

    async def _select_dependent(self, guilty: Sequence[CulpritUnits]) -> Sequence[CulpritUnits]:
        """Return those whose symptoms are gone when nothing of what landed stands: one look tells of all."""
        if not guilty or not self._landed.groups:
            return ()
        everybody = tuple(unit for one in guilty for unit in one.units)
        symptoms = tuple(sorted({symptom for one in guilty for symptom in one.symptoms}))
        tester = self._build_tester(everybody)
        await tester.probe_union(UnionProbe(members=1, symptoms=symptoms))
        (look,) = tester.results
        return [one for one in guilty if all(look.shows_symptom(symptom) is False for symptom in one.symptoms)]

    async def _find_partners_of(self, guilty: CulpritUnits) -> Units:
        tester, symptoms = self._build_tester(guilty.units), frozenset(guilty.symptoms)
        # symptoms are what the base does not show
        nothing = UnionResult(members=0, symptoms=frozenset(), searched=symptoms)
        tester.results += [
            UnionResult(members=tester.full_union, symptoms=symptoms, searched=symptoms),
            UnionResult(members=tester.full_union & ~1, symptoms=frozenset(), searched=symptoms),
            *[nothing] * RUNS_FOR_FLAKY,
        ]
        landed = tester.list_units(tester.full_union & ~1)
        primes = await self._evidence.find_prime_suspects(self._head, guilty.result, guilty.symptoms, landed)
        suspects = {symptom: tester.build_union(units) | 1 for symptom, units in primes.items()}
        most = _PROBES_MORE + _PROBES_A_HALVING * tester.full_union.bit_length().bit_length()
        causes, _ = await tester.find_causes(tester.full_union, guilty.symptoms, suspects, most=most)
        partners: list[UnitId] = []
        for cause in causes:
            if cause.members & 1:
                partners += tester.list_units(cause.members & ~1)
        return tuple(dict.fromkeys(partners))

    def _build_tester(self, units: Units) -> UnionTester:
        return UnionTester(self._tools, self._landed.composer, self._name, self._head, [units], self._landed.groups)
