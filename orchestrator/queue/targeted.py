"""A round that searches a red union by symptoms: see `orchestrator.queue.hunt`.

The gate judges the union in full; of what is red the causes are hunted with narrow probes and left out, and what is
left is judged in full again, until it is green and lands. Where a hunt finds nobody, halving has the last word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.symptoms import GATE, only, symptoms_of
from orchestrator.ports.gate import GateResult
from orchestrator.queue.chase import Look
from orchestrator.queue.compose import Clash, Composed, Composer
from orchestrator.queue.hunt import Ask, Cause, Hunt
from orchestrator.queue.policy import Units
from orchestrator.queue.round import Bench, Round, Sentence

_MOST_PROBES = 200
"""A hunt that has asked so often is going round in circles, as tests that come and go can make it do."""
_LOOKS_AT_KNOWN = 4
"""So often is a union judged in which nothing is red but what the base shows now and then, too."""


class Evidence(Protocol):
    """Who is suspected first, before anything was tried."""

    async def primes(
        self, commit: CommitId, result: GateResult, symptoms: Sequence[str], units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """For each symptom that `result` shows on `commit` the units that its text or its test's sources point at."""
        ...


class NoEvidence:
    """Everybody is as suspect as everybody else."""

    async def primes(
        self, _commit: CommitId, _result: GateResult, _symptoms: Sequence[str], _units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class Targeting:
    """How a targeted round searches.

    `groups` are units that are accepted or ejected together, such as a file with its tests or a whole shard; a unit in
    none of them stands for itself. `reruns` is how often a union with a few red tests is judged again.
    """

    evidence: Evidence = field(default_factory=NoEvidence)
    groups: Sequence[Sequence[UnitId]] = ()
    reruns: int = 0


class TargetedRound(Round):
    """One round, with members of the union as bits in landing order."""

    def __init__(self, bench: Bench, composer: Composer, name: str, targeting: Targeting) -> None:
        super().__init__(bench, composer, name)
        self._targeting = targeting
        self._groups: list[Units] = []
        self._looks: list[Look] = []
        self._of_base: set[str] = set()

    async def _search(self, head: CommitId, units: Units) -> Sentence:
        self._groups = grouped(units, self._targeting.groups)
        union, judged = (1 << len(self._groups)) - 1, 0
        while union:
            composed = await self._composer.compose(head, self._units(union))
            if isinstance(composed, Clash):
                self._clashes.append(composed)
                union &= ~self._bit_of(composed.unit)
                continue
            result = await self._judge_whole(head, union, composed, is_again=judged > 0)
            shown = symptoms_of(result.difference) - self._of_base
            if result.difference.is_green and not shown:
                return Sentence(self._units(union), tuple(self._blame))
            known = len(self._of_base)
            left = await self._without_guilty(head, union, composed, result, shown) if self._may_hunt(union) else union
            if left == union and (judged >= _LOOKS_AT_KNOWN or (shown and len(self._of_base) == known)):
                return await self._last_word(head, union)
            judged, union = (judged + 1 if left == union else 0), left
        return Sentence((), tuple(self._blame))

    def _may_hunt(self, union: int) -> bool:
        """Probes do not ask hooks, so that what a hook refuses cannot be hunted."""
        return self._units(union) not in self._vetoed

    async def _last_word(self, head: CommitId, union: int) -> Sentence:
        guilty = tuple(self._blame)
        ended = await self._halve(head, self._members(union))
        return Sentence(ended.accepted, (*guilty, *ended.guilty))

    async def _judge_whole(self, head: CommitId, union: int, composed: Composed, *, is_again: bool) -> GateResult:
        reruns = self._targeting.reruns
        result = await self._judged(head, self._units(union), composed, fresh=is_again, reruns=reruns)
        told = None if result.is_whole else frozenset[str]()
        self._looks.append(Look(members=union, seen=symptoms_of(result.difference), told=told))
        return result

    async def _without_guilty(
        self, head: CommitId, union: int, composed: Composed, result: GateResult, shown: frozenset[str]
    ) -> int:
        """The union without those who are found to cause one of the symptoms; what the base shows is learnt."""
        if not shown:
            return union
        primes = await self._primes(composed.commit, result, sorted(shown), union)
        causes, probes = await self._hunted(head, union, tuple(sorted(shown)), primes, result)
        for cause in causes:
            if not cause.members:
                self._of_base.update(cause.symptoms)
                continue
            self._eject(cause, result, probes.get(cause.members, result))
            union &= ~cause.members
        return union

    async def _primes(
        self, commit: CommitId, result: GateResult, symptoms: Sequence[str], union: int
    ) -> dict[str, int]:
        named = await self._targeting.evidence.primes(commit, result, symptoms, self._units(union))
        return {symptom: self._bits(units) & union for symptom, units in named.items()}

    async def _hunted(
        self, head: CommitId, union: int, targets: tuple[str, ...], primes: Mapping[str, int], result: GateResult
    ) -> tuple[tuple[Cause, ...], dict[int, GateResult]]:
        """The causes that were found, and the last probe of each set of members."""
        flaky, probes = frozenset(result.difference.flaky), dict[int, GateResult]()
        for _ in range(_MOST_PROBES):
            hunt = Hunt(union=union, targets=targets, looks=tuple(self._looks), primes=primes, flaky=flaky)
            step = hunt.next_step()
            if not isinstance(step, Ask):
                return step, probes
            probes[step.members] = await self._probe(head, step)
        return (), probes

    async def _probe(self, head: CommitId, ask: Ask) -> GateResult:
        units = self._units(ask.members)
        composed = await self._composer.compose(head, units)
        if isinstance(composed, Clash):
            why = f"{composed.unit} clashes with a part of what it did not clash with as a whole"
            raise ValueError(why)  # noqa: TRY004 (what the composer says is wrong, not of which type it is)
        look = sum(one.members == ask.members for one in self._looks)
        purpose = f"queue {self._name}"
        result = await self._gate.probe(composed.commit, composed.tree, purpose, ask.symptoms, look)
        seen = symptoms_of(result.difference)
        self._looks.append(
            Look(members=ask.members, seen=seen, told=None if result.is_whole else frozenset(ask.symptoms))
        )
        await self._ledger.append(
            TrialJudged(
                round=self._name,
                units=units,
                tree=result.tree,
                difference=result.difference,
                cached=result.cached,
                is_second_look=ask.fresh,
                symptoms=ask.symptoms,
                seen=tuple(sorted(seen.intersection(ask.symptoms))),
            )
        )
        return result

    def _eject(self, cause: Cause, result: GateResult, probe: GateResult) -> None:
        """Blame every unit of a cause, with what it makes red, and name the others that it does so with."""
        symptoms = frozenset(cause.symptoms)
        shown = probe.difference if GATE in symptoms and GATE in symptoms_of(probe.difference) else result.difference
        blame = probe.model_copy(update={"difference": only(shown, symptoms)})
        groups = self._members(cause.members)
        for group in groups:
            partners = tuple(unit for other in groups if other != group for unit in other)
            for unit in group:
                self._blame[unit] = blame
                self._partners[unit] = partners

    def _members(self, union: int) -> list[Units]:
        return [group for place, group in enumerate(self._groups) if union >> place & 1]

    def _units(self, union: int) -> Units:
        return tuple(unit for group in self._members(union) for unit in group)

    def _bits(self, units: Sequence[UnitId]) -> int:
        wanted = set(units)
        return sum(1 << place for place, group in enumerate(self._groups) if wanted.intersection(group))

    def _bit_of(self, unit: UnitId) -> int:
        return self._bits([unit])


def grouped(units: Sequence[UnitId], groups: Sequence[Sequence[UnitId]]) -> list[Units]:
    """The units as groups that stay together, each where its first unit stands; groups that overlap become one."""
    leader = {unit: unit for unit in units}

    def lead(unit: UnitId) -> UnitId:
        while leader[unit] != unit:
            unit = leader[unit]
        return unit

    for group in groups:
        known = [unit for unit in group if unit in leader]
        for unit in known[1:]:
            leader[lead(unit)] = lead(known[0])
    members: dict[UnitId, list[UnitId]] = {}
    for unit in units:
        members.setdefault(lead(unit), []).append(unit)
    return [tuple(group) for group in members.values()]
