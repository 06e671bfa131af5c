"""Taking back what shards have landed: a commit on the PR branch each, judged and landed like any other change."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.migration import FileMoved, RollbackRefused, ShardReverted
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.migrate.recipe import Recipe
from orchestrator.ports.gate import Gate
from orchestrator.queue.composition import ComposedUnion, UnitConflict
from orchestrator.queue.lander import Lander
from worktrees.diffs.tree_changes import compare_trees
from worktrees.git import Git
from worktrees.object_store.merge import MergeConflict, commit_tree, merge_commits
from worktrees.object_store.trees import list_tree, read_tree_id

_SHOWN = 3


async def roll_back_shards(context: RunContext, recipe: Recipe, gate: Gate) -> None:
    """Take back the shards that people want back, as far as the rest stays green without them.

    The last landed goes first. What a shard changed is undone even where later commits changed the same files, unless
    they changed the same lines. Afterwards each shard is reverted, or it is recorded why it stays. Interrupted
    anywhere, the next call goes on.

    Args:
        context: the run.
        recipe: as it stands now.
        gate: judges the whole branch; sites that come back are no defect here.

    Raises:
        PersonNeeded: the branch is checked out somewhere, or somebody has made it red.
        EnvironmentProblem: the gate could not run.
    """
    await _book(context)
    while units := _wanted(context.state):
        composer = _Reverting(context, recipe, units)
        lander = Lander(context.journal, gate, context.branch, context.hooks)
        landing = await lander.land_units(f"rollback {len(context.state.landings)}", tuple(units), composer)
        await _book(context)
        refused = []
        for ejected in landing.ejected:
            refused.append(_refusal(units[ejected.unit], ejected))
        await context.journal.append(*refused)
        if not landing.landed and not refused:
            return  # nothing could be said of any of them; they stay wanted


def _wanted(state: RunState) -> Mapping[UnitId, Shard]:
    """The shards to take back as units of the queue, the last landed first."""
    order = {}
    for place, landing in enumerate(state.landings):
        order[landing.new] = place
    parts = {}
    for landing in state.landings:
        for n, part in enumerate(landing.parts):
            parts[part.commit] = (order[landing.new], n)
    shards = []
    for name in state.requested_rollbacks:
        if state.shards[name].commit:
            shards.append(state.shards[name])
    shards.sort(key=lambda shard: parts.get(shard.commit or CommitId(""), (-1, 0)), reverse=True)
    return {_unit(shard): shard for shard in shards}


def _unit(shard: Shard) -> UnitId:
    """What the queue calls the undoing of a shard; another one if the shard has landed again since."""
    return UnitId(f"revert {shard.name}@{(shard.commit or '')[:12]}")


async def _book(context: RunContext) -> None:
    """Record of every undoing that has landed what it means for the shard and its files."""
    state, git = context.state, context.repository.git
    landed = {unit: landing for landing in state.landings for unit in landing.units}
    for shard in list(_wanted(state).values()):
        landing = landed.get(_unit(shard))
        if landing is None:
            continue
        changed = []
        for one in await compare_trees(git, f"{shard.commit}^", shard.commit or ""):
            changed.append(one.path)
        now = {}
        for entry in await list_tree(git, landing.new, changed):
            now[entry.path] = entry.oid
        stands = {}
        for path in changed:
            if path in now and path in state.files:
                stands[path] = now[path]
        reason = state.rollback_reasons.get(shard.name, "")
        reverted = ShardReverted(shard=shard.name, commit=landing.new, reason=reason, stands=stands)
        await context.journal.append(*_moves(state, shard, reason), reverted)


def _moves(state: RunState, shard: Shard, reason: str) -> Iterator[FileMoved]:
    """Files that are another shard's by now stay what they are there."""
    for file in (state.files[path] for path in shard.files):
        if file.status == FileStatus.MERGED:
            yield FileMoved(path=file.path, status=FileStatus.REVERTED, rung=file.rung, reason=reason)


def _refusal(shard: Shard, ejected: UnitEjected) -> RollbackRefused:
    difference = ejected.difference
    tests = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped)
    if ejected.conflict:
        reason = f"{_few(ejected.conflict)} changed again since it landed: take back what changed them first"
    elif tests:
        reason = f"without it the rest would lose {len(tests)} test{'s' * (len(tests) != 1)}: {_few(tests)}"
    else:
        reason = f"without it the gate is red: {'; '.join(difference.problems) or 'it is not settled'}"
    return RollbackRefused(shard=shard.name, reason=reason, tests=tests, paths=ejected.conflict)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


class _Reverting:
    """A `queue.compose.Composer` whose units undo the commits of shards."""

    def __init__(self, context: RunContext, recipe: Recipe, shards: Mapping[UnitId, Shard]) -> None:
        self._context = context
        self._recipe = recipe
        self._shards = shards

    @property
    def _git(self) -> Git:
        return self._context.repository.git

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """One commit a shard, in order."""
        tip, tree = head, TreeId(await read_tree_id(self._git, head))
        for unit in units:
            merged = await merge_commits(self._git, tip, await self._undoing(unit))
            if isinstance(merged, MergeConflict):
                alone = tip == head or await self._clashes_with(head, unit)
                return UnitConflict(unit=unit, paths=merged.paths, with_head=alone)
            tree = TreeId(merged.tree)
            tip = CommitId(await commit_tree(self._git, tree, [tip], self._message(unit), self._context.commit_date))
        return ComposedUnion(commit=tip, tree=tree)

    async def compose_landing(self, _head: CommitId, _units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """The very commits that were tested."""
        return tested

    async def _clashes_with(self, head: CommitId, unit: UnitId) -> bool:
        return isinstance(await merge_commits(self._git, head, await self._undoing(unit)), MergeConflict)

    async def _undoing(self, unit: UnitId) -> str:
        """A commit on top of the shard's own that holds what stood before it: to merge it is to undo the shard."""
        commit = self._shards[unit].commit or ""
        before = await read_tree_id(self._git, f"{commit}^")
        return await commit_tree(self._git, before, [commit], f"before {commit}", self._context.commit_date)

    def _message(self, unit: UnitId) -> str:
        shard, state = self._shards[unit], self._context.state
        trailers = {
            "Reverts-Shard": shard.name,
            "Reverts-Commit": shard.commit,
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Orchestrate-Run": state.run.run,
        }
        why = sanitize_title(state.rollback_reasons.get(shard.name, ""))
        lines = "\n".join(f"{name}: {value}" for name, value in trailers.items())
        title = f"Take back {sanitize_title(self._recipe.title)}: {sanitize_title(shard.name)}"
        return "\n\n".join(part for part in (title, why, lines) if part) + "\n"
