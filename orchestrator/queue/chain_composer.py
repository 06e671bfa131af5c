"""Composing unions unit by unit, so that no part of one that is known is composed again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.queue.bisection import Units
from orchestrator.queue.changed_paths import CandidatePaths, PathReader
from orchestrator.queue.composition import ComposedUnion, Composer, UnitConflict, UnitOrigin

ComposedSteps = dict[tuple[CommitId, UnitId, CommitId | None], ComposedUnion | UnitConflict]
"""A unit on top of a commit. The last part of a key is the unit's own commit, which may be replaced."""


@dataclass(frozen=True)
class CandidateChain:
    """Units that can be composed one after the other on top of a head, and those that conflict with the head itself.

    Whoever conflicts only with an earlier unit of the chain is in neither: it waits until that has landed or left.
    """

    units: Units
    conflicts: tuple[UnitConflict, ...]


@dataclass(frozen=True)
class ChainComposer:
    """A `Composer` that remembers each step; for composers that commit unit after unit."""

    composer: Composer
    steps: ComposedSteps = field(default_factory=dict)

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """Return all units on top of `head`, or the first that conflicts."""
        made = await self.composer.compose_union(head, ()) if not units else None
        tip = head
        for unit in units:
            made = await self._compose_step(tip, unit)
            if isinstance(made, UnitConflict):
                return await self._locate_conflict(head, made)
            tip = made.commit
        assert made is not None
        return made

    async def compose_landing(self, head: CommitId, units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """Return the commit that lands."""
        return await self.composer.compose_landing(head, units, tested)

    def list_origins(self, units: Sequence[UnitId]) -> list[UnitOrigin]:
        """Return for each unit what it may change."""
        return self.composer.list_origins(units)

    async def compose_chain(self, head: CommitId, units: Iterable[UnitId], most: int) -> CandidateChain:
        """Return the first `most` units that can be composed one after the other."""
        chain, conflicts, tip = list[UnitId](), list[UnitConflict](), head
        for unit in units:
            if len(chain) >= most:
                break
            made = await self._compose_step(tip, unit)
            if isinstance(made, ComposedUnion):
                chain.append(unit)
                tip = made.commit
                continue
            conflict = await self._locate_conflict(head, made)
            if conflict.with_head:
                conflicts.append(conflict)
        return CandidateChain(tuple(chain), tuple(conflicts))

    async def select_chain(
        self, head: CommitId, units: Iterable[UnitId], most: int, paths: CandidatePaths, read: PathReader
    ) -> CandidateChain:
        """Return the first `most` units that can be composed, as `compose_chain`.

        Only those are merged with each other that share a path.
        """
        chain, conflicts = list[UnitId](), list[UnitConflict]()
        for unit in units:
            if len(chain) >= most:
                break
            await paths.load_paths(head, unit, read)
            if unit not in paths.fitting:
                made = await self._compose_step(head, unit)
                if isinstance(made, UnitConflict):
                    conflicts.append(made.model_copy(update={"with_head": True}))
                    continue
                paths.fitting.add(unit)
            rivals = paths.find_overlaps(unit, chain)
            if rivals and isinstance(await self.compose_union(head, (*rivals, unit)), UnitConflict):
                continue
            chain.append(unit)
        return CandidateChain(tuple(chain), tuple(conflicts))

    async def _compose_step(self, tip: CommitId, unit: UnitId) -> ComposedUnion | UnitConflict:
        (origin,) = self.composer.list_origins((unit,))
        step = (tip, unit, origin.commit)
        if step not in self.steps:
            self.steps[step] = await self.composer.compose_union(tip, (unit,))
        return self.steps[step]

    async def _locate_conflict(self, head: CommitId, conflict: UnitConflict) -> UnitConflict:
        """Return the conflict with the head itself if there is one: what the unit met may have been another unit."""
        alone = await self._compose_step(head, conflict.unit)
        if isinstance(alone, UnitConflict):
            return alone.model_copy(update={"with_head": True})
        return conflict.model_copy(update={"with_head": False})
