"""Merge work that is under way for a try, so that people see a conflict before it is paid for. Decides nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import anyio

from orchestrator.domain.event.landing import ClashForeseen
from orchestrator.domain.ids import CommitId, TreeId, UnitId, parse_unit_task
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.goal.action_order import ImmediateOrder
from orchestrator.engine.merging.file_regeneration import find_settings
from worktrees.diffs.tree_changes import compare_trees
from worktrees.errors import GitError
from worktrees.object_store.conflict_merge import find_conflicts
from worktrees.safety.path_rules import escape_path

_IDLE_S = 5.0
_MOST_PAIRS = 64
"""More pairs than that are not tried in one round."""


@dataclass(frozen=True)
class _Work:
    """An attempt under way: what it began from, its workspace after the last turn, and the paths that differ."""

    unit: UnitId
    base: CommitId
    tree: TreeId
    paths: frozenset[str] = frozenset()


class ClashProbe:
    """Tries to merge the attempts at work with each other and with the branch, whenever one of them has changed."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._found: dict[tuple[str, str, str], tuple[str, ...]] = {}

    async def watch_attempts(self) -> None:
        """Look at the attempts again and again until cancelled; a run that is done over looks at none."""
        while isinstance(self._context.action_order, ImmediateOrder):
            pause_s = self._context.config.merge.probe_s
            await anyio.sleep(pause_s or _IDLE_S)
            if pause_s:
                await self.probe_attempts()

    async def probe_attempts(self) -> None:
        """Record which attempts would conflict, and which would no more, as far as that is not known yet."""
        try:
            works = [await self._read_paths(work) for work in _list_work(self._context.state)]
            pairs = filter(self._can_both_land, combinations(works, 2))
            for left, right in list(pairs)[:_MOST_PAIRS]:
                await self._probe_pair(left, right.tree, right.paths, (right.unit,))
            tip = self._context.state.head
            for work in works:
                if tip is not None and tip != work.base:
                    landed = await self._list_paths(work.base, tip)
                    await self._probe_pair(work, tip, landed, ())
        except GitError:
            return  # what it looked at is gone already: it looks again

    def _can_both_land(self, pair: tuple[_Work, _Work]) -> bool:
        """Return False for attempts at tasks that try the same."""
        left, right = (self._context.state.tasks[parse_unit_task(work.unit)].spec for work in pair)
        return left.rival_of is None or left.rival_of != right.rival_of

    async def _read_paths(self, work: _Work) -> _Work:
        return _Work(work.unit, work.base, work.tree, await self._list_paths(work.base, work.tree))

    async def _list_paths(self, old: str, new: str) -> frozenset[str]:
        changes = await compare_trees(self._context.repository.git, old, new)
        return frozenset(change.path for change in changes)

    async def _probe_pair(self, work: _Work, other: str, paths: frozenset[str], partners: tuple[UnitId, ...]) -> None:
        """Try one pair, where both sides changed a file and they were not tried as they are."""
        pair = (work.base, work.tree, other)
        if pair not in self._found and work.paths & paths:
            git, settings = self._context.repository.git, self._context.config.merge
            found = await find_conflicts(git, work.base, other, work.tree, settings.union)
            is_mechanical = bool(find_settings(settings.regenerate, found))
            self._found[pair] = () if is_mechanical else tuple(map(escape_path, found))
        conflict = self._found.get(pair, ())
        if conflict != _get_known_paths(self._context.state, work.unit, partners):
            await self._context.journal.append(ClashForeseen(unit=work.unit, partners=partners, paths=conflict))


def _list_work(state: RunState) -> Iterator[_Work]:
    for name in state.task_index.list_with_status(TaskStatus.RUNNING):
        task = state.tasks[name]
        attempt = task.attempt
        session = state.sessions.get(attempt.session) if attempt else None
        if attempt and session and session.tree:
            yield _Work(task.unit, attempt.base, session.tree)


def _get_known_paths(state: RunState, unit: UnitId, partners: tuple[UnitId, ...]) -> tuple[str, ...]:
    for clash in state.foreseen_clashes:
        if (clash.unit, clash.partners) == (unit, partners):
            return clash.paths
    return ()
