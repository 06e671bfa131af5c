"""The changes that events of a migration make to the state of its run."""

from functools import singledispatch
from operator import attrgetter

from orchestrator.domain.event import migration
from orchestrator.domain.event.base import Event
from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.fold.old_journals import derive_failure
from orchestrator.domain.fold.record_updates import update_approval, update_file, update_shard
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.migration.files import FileStatus, Wave
from orchestrator.domain.recipe.model import read_recorded_recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.transitions import FILE_TRANSITIONS, apply_transition


@singledispatch
def apply_migration_event(event: Event, state: RunState) -> None:
    """Apply one event of a migration."""


@apply_migration_event.register
def _(event: migration.FilesFound, state: RunState) -> None:
    state.migration.files |= {found.path: found.build_record() for found in event.files}


@apply_migration_event.register
def _(event: migration.StepFinished, state: RunState) -> None:
    seconds = state.migration.step_seconds.get(event.step, 0.0) + event.seconds
    state.migration.step_seconds[event.step] = round(seconds, 3)


@apply_migration_event.register
def _(event: migration.FileMoved, state: RunState) -> None:
    file = state.migration.files[event.path]
    is_late = file.is_overtaken or (file.after_wave > 0 and file.after_wave == state.migration.current_wave_number)
    if is_late and event.status != FileStatus.MERGED:
        update_file(state, event.path, seconds=file.seconds + event.seconds)
        return
    if event.rung > file.rung:
        state.migration.rung_files[event.rung] += 1
    before = FileStatus.TRANSFORMED if is_late else file.status
    status = apply_transition(FILE_TRANSITIONS, f"file {event.path}", before, event.status)
    changes: dict[str, object] = {"status": status, "is_overtaken": False, "after_wave": 0, "is_asked_for": False}
    changes |= {"rung": event.rung, "seconds": file.seconds + event.seconds}
    if event.rung != file.rung or event.attempt:
        changes["attempt"] = event.attempt
    if status in {FileStatus.TRANSFORMED, FileStatus.RESTORED}:
        changes |= {"blob": event.blob, "left": event.left}
    if status == FileStatus.MERGED:
        changes["landed"] = event.blob or file.blob
        changes["left"] = file.left if event.left is None else event.left
    if status == FileStatus.REVERTED:
        changes |= {"landed": event.blob, "blob": None, "left": None}
    if event.tried is not None or status == FileStatus.EJECTED:
        changes["tried"] = event.tried or file.blob
    if event.reason:
        changes |= {"reason": event.reason, "signature": event.signature}
        changes["failure"] = event.failure or derive_failure(event.signature)
    state.migration.files[event.path] = copy_with_changes(file, **changes)


@apply_migration_event.register
def _(event: migration.ShardsPlanned, state: RunState) -> None:
    planned_paths = frozenset[str]().union(*map(attrgetter("files"), event.shards))
    for shard in list(state.migration.shards.values()):
        kept = tuple(path for path in shard.files if path not in planned_paths)
        if kept != shard.files:
            update_shard(state, shard.name, files=kept)
    state.migration.shards |= {shard.name: shard for shard in event.shards}


@apply_migration_event.register
def _(event: migration.WaveStarted, state: RunState) -> None:
    state.migration.waves.append(Wave(number=event.number, kind=event.wave, shards=event.shards))


@apply_migration_event.register
def _(event: migration.WaveEnded, state: RunState) -> None:
    for index, wave in enumerate(state.migration.waves):
        if wave.number == event.number:
            state.migration.waves[index] = wave.model_copy(update={"is_over": True})


@apply_migration_event.register
def _(event: migration.RecipeRevised, state: RunState) -> None:
    state.migration.recipe = read_recorded_recipe(event.recipe)
    state.migration.requested_recipe = None
    state.migration.revisions.append(event)
    restart_ladder(state, event.redo)
    if event.redo:
        state.goal.rejudge_count += 1
    for item, question in state.approvals.items():
        if question.is_about_recipe and question.is_open:
            update_approval(state, item, closed=f"the recipe was revised to {event.revision}")


@apply_migration_event.register
def _(event: migration.ShardReverted, state: RunState) -> None:
    update_shard(state, event.shard, is_reverted=True)
    _settle_rollback(state, event.shard)
    for path, blob in event.stands.items():
        update_file(state, path, landed=None if blob == state.migration.files[path].base else blob)


@apply_migration_event.register
def _(event: migration.RollbackRefused, state: RunState) -> None:
    _settle_rollback(state, event.shard)
    state.migration.rollback_reasons[event.shard] = event.reason


def _settle_rollback(state: RunState, shard: str) -> None:
    wanted = state.migration.requested_rollbacks
    state.migration.requested_rollbacks = tuple(name for name in wanted if name != shard)


@apply_migration_event.register
def _(event: migration.FilesFlagged, state: RunState) -> None:
    for path in event.paths:
        flags = (*state.migration.files[path].flags, event.flag)
        update_file(state, path, flags=tuple(dict.fromkeys(flags)))


def record_landed_shards(state: RunState, parts: tuple[LandedPart, ...]) -> None:
    """Book the commits that shards landed as."""
    for part in parts:
        if part.name in state.migration.shards:
            update_shard(state, part.name, commit=part.commit, is_reverted=False)


def restart_ladder(state: RunState, paths: tuple[str, ...]) -> None:
    """Let files begin the ladder anew. What of them has landed stays on the branch until something else does."""
    for path in paths:
        update_file(
            state, path, FileStatus.DISCOVERED, rung=-1, attempt=0, blob=None, left=None, flags=(), is_overtaken=False
        )
