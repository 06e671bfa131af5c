"""The search for partners of the guilty among what landed before.

A unit that is red alone on top of what landed may be red only with some of that. If the symptom is gone as soon as
everything that landed is taken back, a search over it finds whom the unit is red together with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.ports.gate import GateResult
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import Composer
from orchestrator.queue.culprit_search import SuspectEvidence, UnionProbe
from orchestrator.queue.landing_round import LandingTools
from orchestrator.queue.symptom_search import RUNS_FOR_FLAKY, UnionResult
from orchestrator.queue.union_tester import UnionTester

_MOST_SOUGHT = 8
"""For no more of the guilty of one round partners are sought: a name is worth some runs, and changes no verdict."""
_PROBES_A_HALVING, _PROBES_MORE = 4, 12
"""After so many probes for each time that what landed can be halved, and so many more, partners are given up."""


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


class PartnerSearch:
    """The search for partners of one round's guilty."""

    def __init__(
        self, tools: LandingTools, name: str, head: CommitId, landed: LandedGroups, evidence: SuspectEvidence
    ) -> None:
        self._tools = tools
        self._name = name
        self._head = head
        self._landed = landed
        self._evidence = evidence

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
