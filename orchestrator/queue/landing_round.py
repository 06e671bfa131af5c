"""One round of landing against one value of the branch."""

from dataclasses import dataclass
from typing import Any

import anyio

from orchestrator.domain.event.landing import LandingFinished, LandingStarted, TrialJudged, UnitEjected
from orchestrator.domain.ids import CommitId, Purpose, UnitId, parse_unit_task
from orchestrator.domain.judging.check import Difference
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.ports.hooks import HookOccurrence, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.bisection import HalvingSearch, Units
from orchestrator.queue.composition import ComposedUnion, Composer, UnitConflict
from orchestrator.queue.pr_branch import PrBranch, require_green_tip


@dataclass(frozen=True)
class LandingResult:
    """The end of one round: what landed and what was ejected. The rest waits for the next round."""

    landed: Units
    ejected: tuple[UnitEjected, ...]


@dataclass(frozen=True)
class LandingTools:
    """The tools of every round."""

    ledger: Ledger
    gate: Gate
    branch: PrBranch
    hooks: Hooks

    async def record_trial(self, name: str, units: Units, result: GateResult, **more: Any) -> None:  # noqa: ANN401
        """Record what the gate said of a union in a round."""
        told = {"tree": result.tree, "difference": result.difference, "cached": result.cached}
        await self.ledger.append(TrialJudged(round=name, units=units, **told, **more))


class LandingRound:
    """A round that searches by greedy halving: see `orchestrator.queue.bisection`."""

    def __init__(self, tools: LandingTools, composer: Composer, name: str) -> None:
        self._tools = tools
        self._composer = composer
        self._name = name
        self._green: ComposedUnion | None = None
        self._blame: dict[UnitId, GateResult] = {}
        self._partners: dict[UnitId, Units] = {}
        self._clashes: list[UnitConflict] = []
        self._vetoed: set[Units] = set()

    async def run(self, units: Units, *, atomic: bool, moves: bool = True) -> LandingResult:
        """Search, move the branch, tell of the ejected; with `atomic` move it only if all units are green together.

        Without `moves` the branch stays where it is, and `landed` is what could have landed.

        Raises:
            worktrees.errors.RefMoved: somebody else moved the branch; nothing was landed or told.
        """
        landed = self._tools.ledger.state.head
        old = await self._tools.branch.read_tip(landed)
        if old and old != landed:
            await require_green_tip(self._tools.gate, self._tools.branch, old)
        accepted = await self._search(old or self._tools.branch.base, units)
        if self._green is None or (atomic and set(accepted) != set(units)):
            accepted = ()
        if self._green and accepted and moves:
            await self._move(old, self._green, accepted)
        ejected = self._build_ejections()
        await self._tools.ledger.append(*ejected)
        return LandingResult(landed=accepted, ejected=ejected)

    async def _search(self, head: CommitId, units: Units) -> Units:
        """Return the last union that was green; whom the rest is blamed on is in `_blame` then."""
        return await self._halve(head, [(unit,) for unit in units])

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
            result = await self._judge_union(head, units, composed, fresh=trial.fresh)
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
            composed = await self._composer.compose_landing(head, units, composed)
            if veto := await self._tools.hooks.find_veto(self._build_occurrence(head, units, composed)):
                self._vetoed.add(units)
                refused = Difference(problems=(f"refused by a hook: {veto}",))
                result = result.model_copy(update={"difference": refused})
        await self._tools.record_trial(self._name, units, result, is_second_look=fresh)
        if result.difference.is_green:
            self._green = composed
        return result

    async def _move(self, old: CommitId | None, green: ComposedUnion, units: Units) -> None:
        key = self._tools.ledger.build_next_key(f"land/{green.commit}")
        name, new, tree = self._tools.branch.name, green.commit, green.tree
        started = LandingStarted(key=key, branch=name, old=old, new=new, tree=tree, units=units, parts=green.parts)
        with anyio.CancelScope(shield=True):  # whoever is stopped now must know whether it has landed
            async with record_effect(self._tools.ledger, started) as landing:
                await self._tools.branch.move_to_commit(old, new, f"orchestrate: land {len(units)}")
                landing.done = LandingFinished(key=key, branch=name, new=new, tree=tree, units=units, parts=green.parts)
        await self._tools.hooks.notify_after(self._build_occurrence(old or self._tools.branch.base, units, green))

    def _build_occurrence(self, head: CommitId, units: Units, composed: ComposedUnion) -> HookOccurrence:
        commit, known = composed.commit, self._tools.ledger.state.tasks
        tasks = tuple(task for task in dict.fromkeys(map(parse_unit_task, units)) if task in known)
        landing = {"old": head, "new": commit, "tree": composed.tree, "units": list(units)}
        return HookOccurrence("landing", commit, {"landing": landing}, tasks, span=(head, commit), view=commit)

    def _build_ejections(self) -> tuple[UnitEjected, ...]:
        ejected = []
        for unit, result in self._blame.items():
            told = {"difference": result.difference, "receipts": result.receipts}
            ejected.append(UnitEjected(round=self._name, unit=unit, **told, partners=self._partners.get(unit, ())))
        for clash in self._clashes:
            if clash.with_head:
                ejected.append(UnitEjected(round=self._name, unit=clash.unit, conflict=clash.paths))
        return tuple(ejected)


def _list_units(members: dict[UnitId, Units], names: Units) -> Units:
    return tuple(unit for name in names for unit in members[name])
