"""The PR branch: one ref, moved only by compare-and-swap, never while somebody has it checked out."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio import to_thread

from orchestrator.domain.event.landing import LandingFinished, LandingStarted, TrialJudged
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import PersonNeeded, RunTakenOver
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.ports.hooks import Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import ComposedUnion
from orchestrator.queue.landed_units import read_landed_units
from worktrees.errors import LockedRepository, RefMoved
from worktrees.object_store.commit_style import PLAIN_STYLE, CommitStyle, restyle_commits
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.trees import read_tree_id
from worktrees.ref_store.refs import move_ref, read_ref, remove_dead_ref_locks, remove_ref
from worktrees.repositories.repository import GitRepository

_NAMED = 3
_SWEEPS = 3
"""So often are locks of dead processes removed for one landing: a rival may be killed again and again."""


@dataclass(frozen=True)
class LandingFence:
    """The run's fence in git: a ref that names the process which may land. It is verified with every landing."""

    ref: str
    object: str


@dataclass(frozen=True)
class PrBranch:
    """`name` without `refs/heads/`. Until something has landed the branch does not exist and its head is the base."""

    repository: GitRepository
    name: str
    base: CommitId
    landing_fence: LandingFence
    style: CommitStyle = PLAIN_STYLE

    @property
    def ref(self) -> str:
        """The full ref."""
        return f"refs/heads/{self.name}"

    async def read_tip(self, landed: CommitId | None) -> CommitId | None:
        """Return the commit the branch points at, None while it does not exist.

        Args:
            landed: what the run landed last; the branch must hold it, or later work would land beside it.

        Raises:
            PersonNeeded: somebody deleted the branch, or moved it away from what has landed or from the base.
        """
        commit = await read_ref(self.repository.git, self.ref)
        if commit is None and landed is None:
            return None
        needed = landed or self.base
        if commit is None or not await is_ancestor(self.repository.git, needed, commit):
            what = "was deleted"
            if commit is not None:
                what = f"stands at {commit[:12]}, which does not hold what it should"
            raise PersonNeeded(
                f"the PR branch {self.name} {what}: put it back with `git branch --force {self.name} {needed}`, "
                "then resume the run"
            )
        return CommitId(commit)

    async def read_landed_units(self, run: RunId, tip: CommitId | None) -> frozenset[UnitId]:
        """Return the units of a run that a commit of the branch holds; none where the branch does not exist."""
        if tip is None:
            return frozenset()
        return await read_landed_units(self.repository.git, run, self.base, tip)

    async def style_union(self, head: CommitId, union: ComposedUnion) -> ComposedUnion:
        """Return a union on top of `head` with its commits by the configured author, signed where that is asked for.

        Raises:
            worktrees.errors.CommitNotSigned: the key cannot be used.
        """
        made = await restyle_commits(self.repository.git, head, union.commit, self.style)
        if not made:
            return union
        parts = []
        for part in union.parts:
            parts.append(part.model_copy(update={"commit": CommitId(made[part.commit])}))
        return ComposedUnion(commit=CommitId(made[union.commit]), tree=union.tree, parts=tuple(parts))

    async def move_to_commit(self, old: CommitId | None, new: CommitId, reason: str) -> None:
        """Move the branch from `old` (None: it must not exist) to `new`.

        Raises:
            worktrees.errors.RefMoved: it did not stand at `old`.
            worktrees.errors.LockedRepository: a living process holds the branch's lock for long.
            RunTakenOver: another process has taken the run over; nothing was moved.
            PersonNeeded: somebody has the branch checked out; moving it would make their checkout look changed.
        """
        await self._require_not_checked_out("nothing can land on it")
        async with self._hold_fence() as fence:
            await self._pass_dead_locks(partial(move_ref, self.repository.git, self.ref, new, old, reason, fence))

    async def _pass_dead_locks(self, move: Callable[[], Awaitable[None]]) -> None:
        """Move the branch; remove what killed processes, a rival's perhaps, left on the refs that this needs.

        Raises:
            worktrees.errors.LockedRepository: a living process holds one of them.
        """
        for sweeps_left in reversed(range(_SWEEPS + 1)):
            try:
                await move()
            except LockedRepository:
                if not sweeps_left:
                    raise
                await remove_dead_ref_locks(self.repository.git, [self.ref, self.landing_fence.ref])
            else:
                return

    async def move_back(self, old: CommitId, new: CommitId, reason: str) -> None:
        """Take the branch from `old` back to `new`; at the base it is removed, as before anything landed.

        Raises:
            worktrees.errors.RefMoved, RunTakenOver, PersonNeeded: as in `move_to_commit`.
        """
        await self._require_not_checked_out("it cannot go back for a restart")
        async with self._hold_fence() as fence:
            move = partial(move_ref, self.repository.git, self.ref, new, old, reason, fence)
            if new == self.base:
                move = partial(remove_ref, self.repository.git, self.ref, old, reason, fence)
            await self._pass_dead_locks(move)

    async def has_left(self, old: CommitId, new: CommitId) -> bool:
        """Return True if the branch does not hold `old` any more, after it was to go back to `new`."""
        tip = await read_ref(self.repository.git, self.ref)
        if tip is None:
            return new == self.base
        return not await is_ancestor(self.repository.git, old, tip)

    async def _require_not_checked_out(self, effect: str) -> None:
        place = (await to_thread.run_sync(self.repository.list_checked_out_branches)).get(self.name)
        if place is not None:
            raise PersonNeeded(
                f"the PR branch {self.name} is checked out in {place}, so {effect}: "
                f"switch that checkout to another branch, then resume the run"
            )

    @asynccontextmanager
    async def _hold_fence(self) -> AsyncIterator[Mapping[str, str]]:
        """Yield what must hold as the branch moves; where it did not move, say if another process is why."""
        try:
            yield {self.landing_fence.ref: self.landing_fence.object}
        except RefMoved:
            if await read_ref(self.repository.git, self.landing_fence.ref) != self.landing_fence.object:
                raise RunTakenOver(
                    "another process has taken over the run; this one stops and lands nothing more"
                ) from None
            raise


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

    async def find_landed(self, tip: CommitId | None, units: Units) -> Units:
        """Return those of the units that a tip of the branch holds already."""
        held = await self.branch.read_landed_units(self.ledger.state.run.run, tip)
        return tuple(unit for unit in units if unit in held)

    async def record_landed(self, name: str, tip: CommitId | None, held: Units, reruns: int) -> None:
        """Record of units that a tip of the branch holds that they landed, if the journal does not know it yet.

        Raises:
            PersonNeeded: the tip is red.
        """
        units = tuple(unit for unit in held if not self.ledger.state.has_landed(unit))
        if tip is None or not units:
            return
        result = await require_green_tip(self.gate, self.branch, tip, reruns)
        await self.record_trial(name, units, result)
        key = self.ledger.build_next_key(f"land/{tip}")
        told: dict[str, Any] = {"key": key, "branch": self.branch.name, "new": tip, "tree": result.tree, "units": units}
        async with record_effect(self.ledger, LandingStarted(old=tip, **told)) as landing:
            landing.done = LandingFinished(**told)


async def require_green_tip(gate: Gate, branch: PrBranch, commit: CommitId, reruns: int) -> GateResult:
    """Judge a tip of the branch that the run did not land, and return what was said; a red one gets a second look.

    Raises:
        PersonNeeded: it is red, and whatever is built on it would be blamed for that.
    """
    tree = TreeId(await read_tree_id(branch.repository.git, commit))
    purpose = Purpose(f"what stands on {branch.name}")
    for is_second_look in (False, True):
        result = await gate.judge_tree(commit, tree, purpose, fresh=is_second_look, reruns=reruns)
        if result.difference.is_green:
            return result
    red = _describe(result.difference)
    raise PersonNeeded(
        f"the PR branch {branch.name} was moved to {commit[:12]}, which is red ({red}): mend it there, or take it back "
        "to what landed, then resume the run"
    )


def _describe(red: Difference) -> str:
    names = (*red.new_failures, *red.unsettled, *red.missing_tests, *red.newly_skipped)
    return join_limited(names, _NAMED) or "; ".join(red.problems)
