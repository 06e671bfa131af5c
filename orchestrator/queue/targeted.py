"""A round that searches a red union by symptoms: see `orchestrator.queue.hunt`.

The gate judges the union in full; of what is red the causes are hunted with narrow probes and left out, and what is
left is judged in full again, until it is green and lands. Where a hunt finds nobody, halving has the last word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.symptoms import GATE, only, symptoms_of
from orchestrator.ports.gate import GateResult
from orchestrator.queue.chase import Look
from orchestrator.queue.compose import Clash, Composed, Composer
from orchestrator.queue.earlier import Earlier, Guilty, Landed
from orchestrator.queue.evidence import Evidence, NoEvidence
from orchestrator.queue.hunt import Cause
from orchestrator.queue.policy import Units
from orchestrator.queue.prober import Prober
from orchestrator.queue.round import Bench, Round, Sentence

_LOOKS_AT_KNOWN = 4
"""So often is a union judged in which nothing is red but what the base shows now and then, too."""


@dataclass(frozen=True)
class Targeting:
    """How a targeted round searches.

    `groups` are units that are accepted or ejected together, such as a file with its tests or a whole shard; a unit in
    none of them stands for itself. `reruns` is how often a union with a few red tests is judged again. Among what
    `landed` in earlier rounds partners of the guilty are looked for.
    """

    evidence: Evidence = field(default_factory=NoEvidence)
    groups: Sequence[Sequence[UnitId]] = ()
    reruns: int = 0
    landed: Landed | None = None


class TargetedRound(Round):
    """One round, with members of the union as bits in landing order."""

    def __init__(self, bench: Bench, composer: Composer, name: str, targeting: Targeting) -> None:
        super().__init__(bench, composer, name)
        self._bench = bench
        self._targeting = targeting
        self._found: list[Guilty] = []
        self._of_base: set[str] = set()

    async def _search(self, head: CommitId, units: Units) -> Sentence:
        sentence = await self._searched(head, units)
        if self._targeting.landed is not None:
            earlier = Earlier(self._bench, self._name, head, self._targeting.landed, self._targeting.evidence)
            for unit, partners in (await earlier.partners(self._found)).items():
                self._partners[unit] += partners
        return sentence

    async def _searched(self, head: CommitId, units: Units) -> Sentence:
        prober = Prober(self._bench, self._composer, self._name, head, grouped(units, self._targeting.groups))
        union, judged = prober.everybody, 0
        while union:
            composed = await self._composer.compose(head, prober.units(union))
            if isinstance(composed, Clash):
                self._clashes.append(composed)
                union &= ~prober.bits([composed.unit])
                continue
            result = await self._judge_whole(prober, head, union, composed, is_again=judged > 0)
            shown = symptoms_of(result.difference) - self._of_base
            if result.difference.is_green and not shown:
                return Sentence(prober.units(union), tuple(self._blame))
            known, left = len(self._of_base), union
            if prober.units(union) not in self._vetoed:  # probes do not ask hooks: what one refuses cannot be hunted
                left = await self._without_guilty(prober, union, composed, result, shown)
            if left == union and (judged >= _LOOKS_AT_KNOWN or (shown and len(self._of_base) == known)):
                return await self._last_word(head, prober.members(union))
            judged, union = (judged + 1 if left == union else 0), left
        return Sentence((), tuple(self._blame))

    async def _last_word(self, head: CommitId, groups: list[Units]) -> Sentence:
        guilty = tuple(self._blame)
        ended = await self._halve(head, groups)
        return Sentence(ended.accepted, (*guilty, *ended.guilty))

    async def _judge_whole(
        self, prober: Prober, head: CommitId, union: int, composed: Composed, *, is_again: bool
    ) -> GateResult:
        reruns = self._targeting.reruns
        result = await self._judged(head, prober.units(union), composed, fresh=is_again, reruns=reruns)
        told = None if result.is_whole else frozenset[str]()
        prober.looks.append(Look(members=union, seen=symptoms_of(result.difference), told=told))
        return result

    async def _without_guilty(
        self, prober: Prober, union: int, composed: Composed, result: GateResult, shown: frozenset[str]
    ) -> int:
        """The union without those who are found to cause one of the symptoms; what the base shows is learnt."""
        if not shown:
            return union
        targets, flaky = sorted(shown), frozenset(result.difference.flaky)
        named = await self._targeting.evidence.primes(composed.commit, result, targets, prober.units(union))
        primes: Mapping[str, int] = {symptom: prober.bits(units) & union for symptom, units in named.items()}
        causes, probes = await prober.causes(union, targets, primes, flaky)
        for cause in causes:
            if not cause.members:
                self._of_base.update(cause.symptoms)
                continue
            self._eject(prober, cause, result, probes.get(cause.members, result))
            union &= ~cause.members
        return union

    def _eject(self, prober: Prober, cause: Cause, result: GateResult, probe: GateResult) -> None:
        """Blame every unit of a cause, with what it makes red, and name the others that it does so with."""
        symptoms = frozenset(cause.symptoms)
        shown = probe.difference if GATE in symptoms and GATE in symptoms_of(probe.difference) else result.difference
        blame = probe.model_copy(update={"difference": only(shown, symptoms)})
        groups = prober.members(cause.members)
        for group in groups:
            partners = tuple(unit for other in groups if other != group for unit in other)
            for unit in group:
                self._blame[unit] = blame
                self._partners[unit] = partners
        if len(groups) == 1 and symptoms.isdisjoint({GATE, *shown.flaky}):  # else it hides others, or tells nothing
            self._found.append(Guilty(groups[0], cause.symptoms, blame))


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
