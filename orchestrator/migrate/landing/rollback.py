"""Take back what shards have landed: a commit on the PR branch each, judged and landed like any other change."""

from collections.abc import Iterator, Mapping

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.migration import FileMoved, RollbackRefused, ShardReverted
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.migrate.landing.file_units import format_trailers
from orchestrator.migrate.landing.pr_groups import list_landed_shards
from orchestrator.ports.gate import Gate
from orchestrator.queue.composition import MergeComposer
from orchestrator.queue.lander import Lander
from worktrees.diffs.tree_changes import compare_trees
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.trees import map_tree, read_tree_id

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
        composer = await _build_composer(context, recipe, units)
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
        if (landing := landed.get(_name_unit(shard))) is None:
            continue
        changes = await compare_trees(git, f"{shard.commit}^", shard.commit or "")
        changed = state.migration.files.keys() & {change.path for change in changes}
        listed = await map_tree(git, landing.new)
        stands = {path: listed[path] for path in sorted(changed & listed.keys())}
        reason = state.migration.rollback_reasons.get(shard.name, "")
        reverted = ShardReverted(shard=shard.name, commit=landing.new, reason=reason, stands=stands)
        await context.journal.append(*_build_moves(state, shard, reason), reverted)


def _build_moves(state: RunState, shard: Shard, reason: str) -> Iterator[FileMoved]:
    """Yield the moves of the shard's files; those that are another shard's by now stay what they are there."""
    for file in state.migration.list_files([shard]):
        if file.status == FileStatus.MERGED:
            yield FileMoved(path=file.path, status=FileStatus.REVERTED, rung=file.rung, reason=reason)


def _build_refusal(shard: Shard, ejected: UnitEjected) -> RollbackRefused:
    difference, tests = ejected.difference, ejected.difference.lost_tests
    if ejected.conflict:
        reason = (
            f"{join_limited(ejected.conflict, _SHOWN)} changed again since it landed: take back what changed them first"
        )
    elif tests:
        reason = f"without it the rest would lose {format_count(len(tests), 'test')}: {join_limited(tests, _SHOWN)}"
    else:
        reason = f"without it the gate is red: {'; '.join(difference.problems) or 'it is not settled'}"
    return RollbackRefused(shard=shard.name, reason=reason, tests=tests, paths=ejected.conflict)


async def _build_composer(context: RunContext, recipe: Recipe, shards: Mapping[UnitId, Shard]) -> MergeComposer:
    """Return a composer whose units undo the commits of shards."""
    undoing = {unit: await _commit_undoing(context, shard) for unit, shard in shards.items()}

    def write_message(unit: UnitId) -> str:
        return _write_message(context.state, recipe, shards[unit])

    return MergeComposer(context.repository.git, undoing, write_message, context.commit_date, names_candidates=False)


async def _commit_undoing(context: RunContext, shard: Shard) -> CommitId:
    """Return a commit on top of the shard's own that holds what stood before it.

    To merge it is to undo the shard.
    """
    git, commit = context.repository.git, shard.commit or ""
    before = await read_tree_id(git, f"{commit}^")
    return CommitId(await commit_tree(git, before, [commit], f"before {commit}", context.commit_date))


def _write_message(state: RunState, recipe: Recipe, shard: Shard) -> str:
    trailers = {
        "Reverts-Shard": shard.name,
        "Reverts-Commit": shard.commit or "",
        "Migration-Id": recipe.migration.id,
        "Recipe-Rev": recipe.revision,
        "Orchestrate-Run": state.run.run,
    }
    why = sanitize_title(state.migration.rollback_reasons.get(shard.name, ""))
    title = f"Take back {sanitize_title(recipe.title)}: {sanitize_title(shard.name)}"
    return "\n\n".join(filter(None, (title, why, format_trailers(trailers)))) + "\n"
