"""Tests of unions of units for symptoms, as often as a search for culprits asks for them."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import collect_symptoms
from orchestrator.domain.run.purpose import Purpose
from orchestrator.ports.gate import GateResult
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import Composer, UnitConflict
from orchestrator.queue.culprit_search import CulpritSearch, SymptomCause, UnionProbe
from orchestrator.queue.landing_round import LandingTools
from orchestrator.queue.symptom_search import UnionResult

_MOST_PROBES = 200
"""A search that has asked so often is going round in circles, as tests that come and go can make it do."""


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
        self._ledger = tools.ledger
        self._gate = tools.gate
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
        result = await self._gate.probe_tree(composed.commit, composed.tree, purpose, ask.symptoms, look)
        seen = collect_symptoms(result.difference)
        searched = None if result.is_whole else frozenset(ask.symptoms)
        self.results.append(UnionResult(members=ask.members, symptoms=seen, searched=searched))
        await self._ledger.append(
            TrialJudged(
                round=self._name,
                units=units,
                taken_back=len(taken_back),
                tree=result.tree,
                difference=result.difference,
                cached=result.cached,
                is_second_look=ask.fresh,
                symptoms=ask.symptoms,
                seen=tuple(sorted(seen.intersection(ask.symptoms))),
            )
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
