"""Landing: compose, test, search the red, move the branch. Every value the branch ever has was green."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from orchestrator.domain.check import Difference
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, TrialJudged, UnitEjected
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.state import unit_task
from orchestrator.ports.effect import effect
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.ports.hooks import NO_HOOKS, Hooks, Moment
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.branch import PrBranch
from orchestrator.queue.compose import Clash, Composed, Composer
from orchestrator.queue.foreign import require_green
from orchestrator.queue.policy import Search, Trial, Units
from worktrees.errors import RefMoved


@dataclass(frozen=True)
class Landing:
    """The end of one round: what landed and what was ejected. The rest waits for the next round."""

    landed: Units
    ejected: tuple[UnitEjected, ...]


class Lander:
    """Lands units on one branch, one round at a time. What a hook vetoes is as red as what the gate refuses."""

    def __init__(self, ledger: Ledger, gate: Gate, branch: PrBranch, hooks: Hooks = NO_HOOKS) -> None:
        self.ledger = ledger
        self.gate = gate
        self.branch = branch
        self.hooks = hooks

    async def land(self, name: str, units: Sequence[UnitId], composer: Composer) -> Landing:
        """Find the units that are green together on top of the branch, land them, eject the guilty.

        Args:
            name: the round's name in events.
            units: in landing order.
            composer: how units become a commit.

        Raises:
            PersonNeeded: the branch is checked out somewhere, or somebody has made it red.
            EnvironmentProblem: the gate could not run.
        """
        while True:
            try:
                return await _Round(self, composer, name).run(tuple(units))
            except RefMoved:
                continue  # somebody else moved the branch: judge again on top of what it is now


class _Round:
    """One round against one value of the branch."""

    def __init__(self, lander: Lander, composer: Composer, name: str) -> None:
        self._ledger = lander.ledger
        self._gate = lander.gate
        self._branch = lander.branch
        self._hooks = lander.hooks
        self._composer = composer
        self._name = name
        self._green: Composed | None = None
        self._blame: dict[UnitId, GateResult] = {}
        self._clashes: list[Clash] = []
        self._vetoed: set[Units] = set()

    async def run(self, units: Units) -> Landing:
        landed = self._ledger.state.head
        old = await self._branch.tip(landed)
        if old and old != landed:
            await require_green(self._gate, self._branch, old)
        search = await self._search(old or self._branch.base, units)
        if self._green:
            await self._move(old, self._green, search.accepted)
        ejected = self._ejected(search.guilty)
        await self._ledger.append(*ejected)
        return Landing(landed=search.accepted, ejected=ejected)

    async def _search(self, head: CommitId, units: Units) -> Search:
        search = Search.over(units)
        while trial := search.next_trial():
            composed = await self._composer.compose(head, trial.units)
            if isinstance(composed, Clash):
                self._clashes.append(composed)
                search = search.without(composed.unit)
            else:
                search = search.answered(await self._is_green(head, trial, composed))
        return search

    async def _is_green(self, head: CommitId, trial: Trial, composed: Composed) -> bool:
        fresh = trial.fresh and trial.units not in self._vetoed
        result = await self._gate.judge(composed.commit, composed.tree, f"queue {self._name}", fresh=fresh)
        if result.difference.is_green and (veto := await self._hooks.before(self._moment(head, trial.units, composed))):
            self._vetoed.add(trial.units)
            refused = Difference(problems=(f"refused by a hook: {veto}",))
            result = result.model_copy(update={"difference": refused})
        await self._ledger.append(
            TrialJudged(
                round=self._name,
                units=trial.units,
                tree=result.tree,
                difference=result.difference,
                cached=result.cached,
                is_second_look=trial.fresh,
            )
        )
        if result.difference.is_green:
            self._green = composed
            return True
        if len(trial.group) == 1:
            self._blame[trial.group[0]] = result
        return False

    async def _move(self, old: CommitId | None, green: Composed, units: Units) -> None:
        key = self._ledger.next_key(f"land/{green.commit}")
        name = self._branch.name
        started = LandingStarted(key=key, branch=name, old=old, new=green.commit, tree=green.tree, units=units)
        with anyio.CancelScope(shield=True):  # whoever is stopped now must know whether it has landed
            async with effect(self._ledger, started) as landing:
                await self._branch.advance(old, green.commit, f"orchestrate: land {len(units)}")
                landing.done = LandingFinished(key=key, branch=name, new=green.commit, tree=green.tree, units=units)
        await self._hooks.after(self._moment(old or self._branch.base, units, green))

    def _moment(self, head: CommitId, units: Units, composed: Composed) -> Moment:
        commit = composed.commit
        tasks = tuple(task for task in dict.fromkeys(map(unit_task, units)) if task in self._ledger.state.tasks)
        landing = {"old": head, "new": commit, "tree": composed.tree, "units": list(units)}
        return Moment("landing", commit, {"landing": landing}, tasks, span=(head, commit), view=commit)

    def _ejected(self, guilty: Units) -> tuple[UnitEjected, ...]:
        red = [
            UnitEjected(round=self._name, unit=unit, difference=result.difference, receipts=result.receipts)
            for unit, result in self._blame.items()
            if unit in guilty
        ]
        clashing = [
            UnitEjected(round=self._name, unit=clash.unit, conflict=clash.paths)
            for clash in self._clashes
            if clash.with_head
        ]
        return (*red, *clashing)
