"""What the events of a migration change in the state of its run."""

from functools import singledispatch

from orchestrator.domain.event import migration
from orchestrator.domain.event.base import Event
from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.lifecycle import FILE_MOVES, move
from orchestrator.domain.migration import FileStatus, Wave
from orchestrator.domain.state import RunState


@singledispatch
def migrated(event: Event, state: RunState) -> None:
    """Apply one event of a migration."""


@migrated.register
def _(event: migration.FilesFound, state: RunState) -> None:
    state.files |= {found.path: found.record() for found in event.files}


@migrated.register
def _(event: migration.StepFinished, state: RunState) -> None:
    state.steps[event.step] = round(state.steps.get(event.step, 0.0) + event.seconds, 3)


@migrated.register
def _(event: migration.FileMoved, state: RunState) -> None:
    file = state.files[event.path]
    is_late = file.is_overtaken or (file.after_wave > 0 and file.after_wave == state.wave_under_way)
    if is_late and event.status != FileStatus.MERGED:
        state.files[event.path] = file.model_copy(update={"seconds": file.seconds + event.seconds})
        return
    if event.rung > file.rung:
        state.rung_files[event.rung] += 1
    before = FileStatus.TRANSFORMED if is_late else file.status
    status = move(FILE_MOVES, f"file {event.path}", before, event.status)
    changes: dict[str, object] = {
        "status": status,
        "is_overtaken": False,
        "after_wave": 0,
        "is_asked_for": False,
        "rung": event.rung,
        "seconds": file.seconds + event.seconds,
    }
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
    state.files[event.path] = file.model_copy(update=changes)


@migrated.register
def _(event: migration.ShardsPlanned, state: RunState) -> None:
    taken = {path for shard in event.shards for path in shard.files}
    for shard in list(state.shards.values()):
        kept = tuple(path for path in shard.files if path not in taken)
        if kept != shard.files:
            state.shards[shard.name] = shard.model_copy(update={"files": kept})
    state.shards |= {shard.name: shard for shard in event.shards}


@migrated.register
def _(event: migration.WaveStarted, state: RunState) -> None:
    state.waves.append(Wave(number=event.number, kind=event.wave, shards=event.shards))


@migrated.register
def _(event: migration.WaveEnded, state: RunState) -> None:
    state.waves = [
        wave.model_copy(update={"is_over": True}) if wave.number == event.number else wave for wave in state.waves
    ]


@migrated.register
def _(event: migration.RecipeRevised, state: RunState) -> None:
    state.recipe = event.recipe
    state.revised = None
    state.revisions.append(event)
    climb_again(state, event.redo)
    no = {"decision": "deny", "by": event.by, "reason": f"the recipe was revised to {event.revision}"}
    overtaken = {item: asked for item, asked in state.approvals.items() if asked.is_about_recipe and asked.is_open}
    state.approvals |= {item: asked.model_copy(update=no) for item, asked in overtaken.items()}


@migrated.register
def _(event: migration.ShardReverted, state: RunState) -> None:
    shard = state.shards[event.shard]
    state.shards[event.shard] = shard.model_copy(update={"is_reverted": True})
    state.rollbacks = tuple(name for name in state.rollbacks if name != event.shard)
    for path, blob in event.stands.items():
        file = state.files[path]
        state.files[path] = file.model_copy(update={"landed": None if blob == file.base else blob})


@migrated.register
def _(event: migration.RollbackRefused, state: RunState) -> None:
    state.rollbacks = tuple(name for name in state.rollbacks if name != event.shard)
    state.rollback_reasons[event.shard] = event.reason


@migrated.register
def _(event: migration.FilesFlagged, state: RunState) -> None:
    for path in event.paths:
        file = state.files[path]
        flags = tuple(dict.fromkeys((*file.flags, event.flag)))
        state.files[path] = file.model_copy(update={"flags": flags})


def landed(state: RunState, parts: tuple[LandedPart, ...]) -> None:
    """Book the commits that shards landed as."""
    for part in parts:
        if part.name in state.shards:
            state.shards[part.name] = state.shards[part.name].model_copy(
                update={"commit": part.commit, "is_reverted": False}
            )


def climb_again(state: RunState, paths: tuple[str, ...], note: str = "") -> None:
    """Let files begin the ladder anew. What of them has landed stays on the branch until something else does.

    `note` is what a person says to the models on the ladder.
    """
    for path in paths:
        file = state.files[path]
        status = move(FILE_MOVES, f"file {path}", file.status, FileStatus.DISCOVERED)
        fresh = {
            "status": status,
            "rung": -1,
            "attempt": 0,
            "blob": None,
            "left": None,
            "flags": (),
            "is_overtaken": False,
            "note": note or file.note,
        }
        state.files[path] = file.model_copy(update=fresh)
