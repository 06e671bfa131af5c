"""Take back what shards have landed: a commit on the PR branch each, judged and landed like any other change."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.migration import FileMoved, RollbackRefused, ShardReverted
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.migrate.ladder.waves import list_shard_files
from orchestrator.migrate.landing.file_units import format_trailers
from orchestrator.migrate.landing.pr_groups import list_landed_shards
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
    await _record_rollbacks(context)
    while units := _list_wanted(context.state):
        composer = _RevertComposer(context, recipe, units)
        lander = Lander(context.journal, gate, context.branch, context.hooks)
        landing = await lander.land_units(f"rollback {len(context.state.landings)}", tuple(units), composer)
        await _record_rollbacks(context)
        refused = [_build_refusal(units[ejected.unit], ejected) for ejected in landing.ejected]
        await context.journal.append(*refused)
        if not landing.landed and not refused:
            return  # nothing could be said of any of them; they stay wanted


def _list_wanted(state: RunState) -> Mapping[UnitId, Shard]:
    """Return the shards to take back as units of the queue, the last landed first."""
    wanted = set(state.migration.requested_rollbacks)
    shards = [shard for shard in list_landed_shards(state) if shard.name in wanted]
    return {_name_unit(shard): shard for shard in reversed(shards)}


def _name_unit(shard: Shard) -> UnitId:
    """Return what the queue calls the undoing of a shard; another one if the shard has landed again since."""
    return UnitId(f"revert {shard.name}@{(shard.commit or '')[:12]}")


async def _record_rollbacks(context: RunContext) -> None:
    """Record of every undoing that has landed what it means for the shard and its files."""
    state, git = context.state, context.repository.git
    landed = {unit: landing for landing in state.landings for unit in landing.units}
    for shard in list(_list_wanted(state).values()):
        landing = landed.get(_name_unit(shard))
        if landing is None:
            continue
        changes = await compare_trees(git, f"{shard.commit}^", shard.commit or "")
        stands = {}
        for entry in await list_tree(git, landing.new, [change.path for change in changes]):
            if entry.path in state.migration.files:
                stands[entry.path] = entry.oid
        reason = state.migration.rollback_reasons.get(shard.name, "")
        reverted = ShardReverted(shard=shard.name, commit=landing.new, reason=reason, stands=stands)
        await context.journal.append(*_build_moves(state, shard, reason), reverted)


def _build_moves(state: RunState, shard: Shard, reason: str) -> Iterator[FileMoved]:
    """Yield the moves of the shard's files; those that are another shard's by now stay what they are there."""
    for file in list_shard_files(state, shard):
        if file.status == FileStatus.MERGED:
            yield FileMoved(path=file.path, status=FileStatus.REVERTED, rung=file.rung, reason=reason)


def _build_refusal(shard: Shard, ejected: UnitEjected) -> RollbackRefused:
    difference = ejected.difference
    tests = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped)
    if ejected.conflict:
        reason = (
            f"{join_limited(ejected.conflict, _SHOWN)} changed again since it landed: take back what changed them first"
        )
    elif tests:
        reason = f"without it the rest would lose {format_count(len(tests), 'test')}: {join_limited(tests, _SHOWN)}"
    else:
        reason = f"without it the gate is red: {'; '.join(difference.problems) or 'it is not settled'}"
    return RollbackRefused(shard=shard.name, reason=reason, tests=tests, paths=ejected.conflict)


class _RevertComposer:
    """A `queue.composition.Composer` whose units undo the commits of shards."""

    def __init__(self, context: RunContext, recipe: Recipe, shards: Mapping[UnitId, Shard]) -> None:
        self._context = context
        self._recipe = recipe
        self._shards = shards

    @property
    def _git(self) -> Git:
        return self._context.repository.git

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """Compose one commit a shard, in order."""
        tip, tree = head, TreeId(await read_tree_id(self._git, head))
        for unit in units:
            merged = await merge_commits(self._git, tip, await self._commit_undoing(unit))
            if isinstance(merged, MergeConflict):
                alone = tip == head or await self._clashes_with(head, unit)
                return UnitConflict(unit=unit, paths=merged.paths, with_head=alone)
            tree = TreeId(merged.tree)
            tip = CommitId(
                await commit_tree(self._git, tree, [tip], self._write_message(unit), self._context.commit_date)
            )
        return ComposedUnion(commit=tip, tree=tree)

    async def compose_landing(self, _head: CommitId, _units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """Return the very commits that were tested."""
        return tested

    async def _clashes_with(self, head: CommitId, unit: UnitId) -> bool:
        return isinstance(await merge_commits(self._git, head, await self._commit_undoing(unit)), MergeConflict)

    async def _commit_undoing(self, unit: UnitId) -> str:
        """Return a commit on top of the shard's own that holds what stood before it.

        To merge it is to undo the shard.
        """
        commit = self._shards[unit].commit or ""
        before = await read_tree_id(self._git, f"{commit}^")
        return await commit_tree(self._git, before, [commit], f"before {commit}", self._context.commit_date)

    def _write_message(self, unit: UnitId) -> str:
        shard, state = self._shards[unit], self._context.state
        trailers = {
            "Reverts-Shard": shard.name,
            "Reverts-Commit": shard.commit or "",
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Orchestrate-Run": state.run.run,
        }
        why = sanitize_title(state.migration.rollback_reasons.get(shard.name, ""))
        title = f"Take back {sanitize_title(self._recipe.title)}: {sanitize_title(shard.name)}"
        return "\n\n".join(filter(None, (title, why, format_trailers(trailers)))) + "\n"
