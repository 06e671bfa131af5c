"""Moving the branch to a green union: by compare-and-swap, with its events, its style and the user's hooks."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from orchestrator.domain.event.landing import LandingFinished, LandingStarted, UnitEjected
from orchestrator.domain.ids import CommitId, UnitId, parse_unit_task
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, collect_symptoms, select_symptoms
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import GateResult
from orchestrator.ports.hooks import HookOccurrence
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import ComposedUnion, Composer
from orchestrator.queue.culprit_search import SymptomCause
from orchestrator.queue.landing_guard import require_own_changes, require_tested_tree
from orchestrator.queue.pr_branch import LandingTools, require_green_tip


@dataclass(frozen=True)
class LandingResult:
    """The end of one round: what landed and what was ejected. The rest waits for the next round."""

    landed: Units
    ejected: tuple[UnitEjected, ...]


@dataclass(frozen=True)
class UnitBlame:
    """The reason that a unit is ejected, and with whom it is red only together."""

    result: GateResult
    partners: Units = ()
    is_vetoed: bool = False


@dataclass(frozen=True)
class BranchLanding:
    """The landings of one round."""

    tools: LandingTools
    composer: Composer

    async def read_tip(
        self, name: str, units: Units, reruns: int, *, moves: bool = True
    ) -> tuple[CommitId | None, Units]:
        """Return the branch's tip, None while it does not exist, and those of the units that this very commit holds.

        A tip that the run did not land is judged first. Units on it of which the journal does not know it are recorded
        as landed in the round `name`, if it `moves` the branch.

        Raises:
            PersonNeeded: somebody deleted the branch, moved it away from what landed, or made it red.
        """
        landed = self.tools.ledger.state.head
        tip = await self.tools.branch.read_tip(landed)
        if tip and tip != landed:
            await require_green_tip(self.tools.gate, self.tools.branch, tip, reruns)
        held = await self.tools.find_landed(tip, units)
        if moves:
            await self.tools.record_landed(name, tip, held, reruns)
        return tip, held

    async def prepare_landing(
        self, head: CommitId, units: Units, tested: ComposedUnion
    ) -> tuple[ComposedUnion, Difference | None]:
        """Return the commit by which a green union lands, and the difference that stands for a hook's veto, if any.

        Raises:
            UnsafeLanding: the commit has another tree than the one that was tested.
        """
        composed = await self.composer.compose_landing(head, units, tested)
        composed = await self.tools.branch.style_union(head, composed)
        require_tested_tree(composed, tested.tree)
        veto = await self.tools.hooks.find_veto(self._build_occurrence(head, units, composed))
        return composed, Difference(problems=(f"refused by a hook: {veto}",)) if veto else None

    async def move_branch(self, old: CommitId | None, green: ComposedUnion, units: Units) -> None:
        """Move the branch from `old` to a green union, and tell the hooks.

        Raises:
            worktrees.errors.RefMoved: somebody else moved the branch.
            UnsafeLanding: the union changes something that its units do not change.
        """
        ledger, branch = self.tools.ledger, self.tools.branch
        origins = self.composer.list_origins(units)
        await require_own_changes(branch.repository.git, old or branch.base, green, origins)
        key = ledger.build_next_key(f"land/{green.commit}")
        name, new, tree = branch.name, green.commit, green.tree
        started = LandingStarted(key=key, branch=name, old=old, new=new, tree=tree, units=units, parts=green.parts)
        with anyio.CancelScope(shield=True):  # whoever is stopped now must know whether it has landed
            async with record_effect(ledger, started) as landing:
                await branch.move_to_commit(old, new, f"orchestrate: land {len(units)}")
                landing.done = LandingFinished(key=key, branch=name, new=new, tree=tree, units=units, parts=green.parts)
        await self.tools.hooks.notify_after(self._build_occurrence(old or branch.base, units, green))

    def _build_occurrence(self, head: CommitId, units: Units, composed: ComposedUnion) -> HookOccurrence:
        commit, known = composed.commit, self.tools.ledger.state.tasks
        tasks = tuple(task for task in dict.fromkeys(map(parse_unit_task, units)) if task in known)
        landing = {"old": head, "new": commit, "tree": composed.tree, "units": list(units)}
        return HookOccurrence("landing", commit, {"landing": landing}, tasks, span=(head, commit), view=commit)


def build_ejections(name: str, blames: Mapping[UnitId, UnitBlame]) -> tuple[UnitEjected, ...]:
    """Return the events that eject units in the round `name`, each with the reason."""
    ejected = []
    for unit, blame in blames.items():
        event = UnitEjected(
            round=name,
            unit=unit,
            difference=blame.result.difference,
            receipts=blame.result.receipts,
            is_vetoed=blame.is_vetoed,
            partners=blame.partners,
        )
        ejected.append(event)
    return tuple(ejected)


def select_blame(cause: SymptomCause, result: GateResult, probe: GateResult) -> GateResult:
    """Return the part of a union's `result` that a cause is blamed for; `probe` was the last look at the cause."""
    symptoms, shown = frozenset(cause.symptoms), result.difference
    if GATE_SYMPTOM in symptoms and GATE_SYMPTOM in collect_symptoms(probe.difference):
        shown = probe.difference
    return probe.model_copy(update={"difference": select_symptoms(shown, symptoms)})
