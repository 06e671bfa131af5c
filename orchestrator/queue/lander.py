"""Landing: compose, test, search the red, move the branch. Every value the branch ever has was green."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, collect_symptoms
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.bisection import HalvingSearch, Units, merge_groups
from orchestrator.queue.branch_landing import (
    BranchLanding,
    LandingResult,
    UnitBlame,
    build_ejections,
    select_blame,
)
from orchestrator.queue.composition import ComposedUnion, Composer, UnitConflict
from orchestrator.queue.culprit_search import SuspectEvidence, SymptomCause
from orchestrator.queue.landed_partners import CulpritUnits, LandedGroups, PartnerSearch, UnionClash, UnionTester
from orchestrator.queue.pr_branch import LandingTools, PrBranch
from orchestrator.queue.symptom_search import UnionResult
from worktrees.errors import RefMoved

_LOOKS_AT_KNOWN = 4
"""So often is a union judged in which nothing is red but what the base shows now and then, too."""


@dataclass(frozen=True)
class TargetedSearchOptions:
    """The options of a targeted round.

    `groups` are units that are accepted or ejected together, such as a file with its tests or a whole shard; a unit in
    none of them stands for itself. `reruns` is how often a union with a few red tests is judged again. Among what
    `landed` in earlier rounds partners of the guilty are looked for. Of units that are red only together all are
    ejected; without `ejects_partners` only the last of them, so that the others land. With `lands_flaky` a green union
    lands although a test of it has passed and failed on its tree; else whoever makes it so is searched first.
    """

    evidence: SuspectEvidence = field(default_factory=SuspectEvidence)
    groups: Sequence[Sequence[UnitId]] = ()
    reruns: int = 0
    landed: LandedGroups | None = None
    ejects_partners: bool = True
    lands_flaky: bool = False


DEFAULT_SEARCH = TargetedSearchOptions()


class TargetedRound:
    """One round against one value of the branch; units of a red union are bits, in landing order.

    The gate judges the union in full; the causes of what is red are searched with narrow probes and left out, and what
    is left is judged in full again, until it is green and lands. Where the search finds nobody, halving has the last
    word. See `orchestrator.queue.culprit_search`.
    """

    def __init__(self, tools: LandingTools, composer: Composer, name: str, targeting: TargetedSearchOptions) -> None:
        self._tools = tools
        self._composer = composer
        self._landing = BranchLanding(tools, composer)
        self._name = name
        self._green: ComposedUnion | None = None
        self._blame: dict[UnitId, GateResult] = {}
        self._partners: dict[UnitId, Units] = {}
        self._clashes: list[UnitConflict] = []
        self._vetoed: set[Units] = set()
        self._targeting = targeting
        self._found: list[CulpritUnits] = []
        self._of_base: set[str] = set()

    async def run(self, units: Units, *, atomic: bool, moves: bool = True) -> LandingResult:
        """Search, move the branch, tell of the ejected; with `atomic` move it only if all units are green together.

        Without `moves` the branch stays where it is, and `landed` is what could have landed.

        Raises:
            worktrees.errors.RefMoved: somebody else moved the branch; nothing was landed or told.
        """
        old, held = await self._landing.read_tip(self._name, units, self._targeting.reruns, moves=moves)
        wanted = tuple(unit for unit in units if unit not in held)
        accepted = await self._search(old or self._tools.branch.base, wanted)
        if self._green is None or (atomic and set(accepted) != set(wanted)):
            accepted = ()
        if self._green and accepted and moves:
            await self._landing.move_branch(old, self._green, accepted)
        ejected = self._build_ejections()
        await self._tools.ledger.append(*ejected)
        return LandingResult(landed=(*held, *accepted), ejected=ejected)

    async def _search(self, head: CommitId, units: Units) -> Units:
        """Return the last union that was green; whom the rest is blamed on is in `_blame` then."""
        accepted = await self._search_by_symptoms(head, units)
        if self._targeting.landed is not None:
            earlier = PartnerSearch(self._tools, self._name, head, self._targeting.landed, self._targeting.evidence)
            for unit, partners in (await earlier.find_partners(self._found)).items():
                self._partners[unit] += partners
        return accepted

    async def _search_by_symptoms(self, head: CommitId, units: Units) -> Units:
        tester = UnionTester(self._tools, self._composer, self._name, head, merge_groups(units, self._targeting.groups))
        union, judged = tester.full_union, 0
        while union:
            composed = await self._composer.compose_union(head, tester.list_units(union))
            if isinstance(composed, UnitConflict):
                self._clashes.append(composed)
                union &= ~tester.build_union([composed.unit])
                continue
            result = await self._judge_whole(tester, head, union, composed, is_again=judged > 0)
            shown = collect_symptoms(result.difference) - self._of_base
            if result.difference.is_green and (self._targeting.lands_flaky or not shown):
                return tester.list_units(union)
            known, left = len(self._of_base), union
            if tester.list_units(union) not in self._vetoed:  # probes ask no hooks, so a veto cannot be searched
                left = await self._drop_guilty(tester, union, composed, result, shown)
            if left != union:
                judged, union = 0, left
                continue
            if judged >= _LOOKS_AT_KNOWN or (shown and len(self._of_base) == known):
                return await self._halve(head, tester.list_groups(union))
            judged += 1
        return ()

    async def _judge_whole(
        self, tester: UnionTester, head: CommitId, union: int, composed: ComposedUnion, *, is_again: bool
    ) -> GateResult:
        reruns = self._targeting.reruns
        result = await self._judge_union(head, tester.list_units(union), composed, fresh=is_again, reruns=reruns)
        searched = None if result.is_whole else frozenset[str]()
        tester.results.append(
            UnionResult(members=union, symptoms=collect_symptoms(result.difference), searched=searched)
        )
        return result

    async def _drop_guilty(
        self, tester: UnionTester, union: int, composed: ComposedUnion, result: GateResult, shown: frozenset[str]
    ) -> int:
        """Return the union without those who are found to cause one of the symptoms; what the base shows is learnt."""
        if not shown:
            return union
        targets, flaky = sorted(shown), frozenset(result.difference.flaky)
        named = await self._targeting.evidence.find_prime_suspects(
            composed.commit, result, targets, tester.list_units(union)
        )
        primes: Mapping[str, int] = {symptom: tester.build_union(units) & union for symptom, units in named.items()}
        try:
            causes, probes = await tester.find_causes(union, targets, primes, flaky)
        except UnionClash:
            return union
        for cause in causes:
            if not cause.members:
                self._of_base.update(cause.symptoms)
                continue
            union &= ~self._eject(tester, cause, result, probes.get(cause.members, result))
        return union

    def _eject(self, tester: UnionTester, cause: SymptomCause, result: GateResult, probe: GateResult) -> int:
        """Blame units of a cause, with what they make red and the others that they do so with; return their union."""
        symptoms, blame = frozenset(cause.symptoms), select_blame(cause, result, probe)
        groups = tester.list_groups(cause.members)
        blamed = groups if self._targeting.ejects_partners else groups[-1:]
        for group in blamed:
            partners = tuple(unit for other in groups if other != group for unit in other)
            for unit in group:
                self._blame[unit] = blame
                self._partners[unit] = partners
        hiding = {GATE_SYMPTOM, *result.difference.flaky}  # what hides others, or tells nothing
        if len(groups) == 1 and symptoms.isdisjoint(hiding):
            self._found.append(CulpritUnits(groups[0], cause.symptoms, blame))
        return tester.build_union([unit for group in blamed for unit in group])

    async def _halve(self, head: CommitId, groups: list[Units]) -> Units:
        """Search by greedy halving over groups of units that stay together; each is named by its first unit."""
        members = {group[0]: group for group in groups}
        search = HalvingSearch.begin_with(tuple(members))
        while trial := search.get_next_trial():
            units = _list_units(members, trial.units)
            composed = await self._composer.compose_union(head, units)
            if isinstance(composed, UnitConflict):
                self._clashes.append(composed)
                search = search.drop_unit(next(name for name, group in members.items() if composed.unit in group))
                continue
            reruns = self._targeting.reruns
            result = await self._judge_union(head, units, composed, fresh=trial.fresh, reruns=reruns)
            if not result.difference.is_green and len(trial.group) == 1:
                self._blame |= dict.fromkeys(members[trial.group[0]], result)
            search = search.apply_answer(result.difference.is_green)
        for name in members.keys() - set(search.guilty):  # some are guilty only until others are accepted
            for unit in members[name]:
                self._blame.pop(unit, None)
        return _list_units(members, search.accepted)

    async def _judge_union(
        self, head: CommitId, units: Units, composed: ComposedUnion, *, fresh: bool, reruns: int = 0
    ) -> GateResult:
        """Judge a union by the whole gate and the hooks; a green one lands unless a larger one is green."""
        fresh = fresh and units not in self._vetoed
        purpose = Purpose.for_queue(self._name)
        result = await self._tools.gate.judge_tree(composed.commit, composed.tree, purpose, fresh, reruns)
        if result.difference.is_green:
            composed, veto = await self._landing.prepare_landing(head, units, composed)
            if veto is not None:
                self._vetoed.add(units)
                result = result.model_copy(update={"difference": veto})
        await self._tools.record_trial(self._name, units, result, is_second_look=fresh)
        if result.difference.is_green:
            self._green = composed
        return result

    def _build_ejections(self) -> tuple[UnitEjected, ...]:
        blames: dict[UnitId, UnitBlame] = {}
        for unit, result in self._blame.items():
            blames[unit] = UnitBlame(result, self._partners.get(unit, ()), is_vetoed=(unit,) in self._vetoed)
        ejected = list(build_ejections(self._name, blames))
        for clash in self._clashes:
            if clash.with_head:
                ejected.append(UnitEjected(round=self._name, unit=clash.unit, conflict=clash.paths))
        return tuple(ejected)


def _list_units(members: dict[UnitId, Units], names: Units) -> Units:
    return tuple(unit for name in names for unit in members[name])


class Lander:
    """Lands units on one branch, one round at a time. What a hook vetoes is as red as what the gate refuses."""

    def __init__(self, ledger: Ledger, gate: Gate, branch: PrBranch, hooks: Hooks = NO_HOOKS) -> None:
        self.tools = LandingTools(ledger, gate, branch, hooks)

    async def land_units(
        self,
        name: str,
        units: Sequence[UnitId],
        composer: Composer,
        targeting: TargetedSearchOptions = DEFAULT_SEARCH,
        *,
        atomic: bool = False,
        moves: bool = True,
    ) -> LandingResult:
        """Find the units that are green together on top of the branch, land them, eject the guilty.

        Args:
            name: the round's name in events.
            units: in landing order.
            composer: how units become a commit.
            targeting: how to search a red union for the causes of each symptom.
            atomic: land all units or none; the guilty are found and ejected all the same.
            moves: without it nothing lands, and `landed` of the result is what could have.

        Raises:
            PersonNeeded: the branch is checked out somewhere, or somebody has made it red.
            EnvironmentProblem: the gate could not run.
        """
        while True:
            landing = TargetedRound(self.tools, composer, name, targeting)
            try:
                return await landing.run(tuple(units), atomic=atomic, moves=moves)
            except RefMoved:
                continue  # somebody else moved the branch: judge again on top of what it is now
