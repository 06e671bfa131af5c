"""Which shards go up the ladder together, and which files that concerns. Pure rules over the state of a run."""

import re

from orchestrator.domain.event.migration import ShardsPlanned, WaveStarted
from orchestrator.domain.migration.files import FileRecord, Shard, Wave, build_next_shard_name
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD

_REVISION = re.compile(r"(\.r\d+)+\Z")


def strip_revision(name: str) -> str:
    """`core` for `core`, `core.r1` and `core.r2`."""
    return _REVISION.sub("", name)


def find_current_wave(state: RunState) -> Wave | None:
    """The wave under way."""
    if state.waves and not state.waves[-1].is_over:
        return state.waves[-1]
    return None


def list_wave_shards(state: RunState, wave: Wave) -> list[Shard]:
    """The wave's shards with all that came out of them."""
    families = {strip_revision(name) for name in wave.shards}
    return [shard for shard in state.shards.values() if strip_revision(shard.name) in families]


def list_wave_files(state: RunState, wave: Wave) -> list[FileRecord]:
    """The files of a wave that have not come to an end, in the order of their shards.

    Shards that are held are left; so is what a person has released or has had tried again since the wave began.
    """
    shards = (shard for shard in list_wave_shards(state, wave) if not shard.held and shard.after_wave != wave.number)
    files = (state.files[path] for shard in shards for path in shard.files)
    return [file for file in files if not file.status.is_terminal and file.after_wave != wave.number]


def choose_next_wave(state: RunState, recipe: Recipe) -> WaveStarted | None:
    """The next shards to begin with: the sample first, then more and more of the others; None when none is open."""
    waiting = []
    for shard in state.shards.values():
        if not shard.held and _is_open(state, shard):
            waiting.append(shard)
    if not waiting:
        return None
    number = len(state.waves) + 1
    if waiting[0].name == SAMPLE_SHARD and not state.waves and not recipe.migration.atomic:
        return WaveStarted(number=number, wave="sample", shards=(SAMPLE_SHARD,))
    begun = set()
    for wave in state.waves:
        for name in wave.shards:
            begun.add(strip_revision(name))
    fresh = []
    for shard in waiting:
        if strip_revision(shard.name) not in begun:
            fresh.append(shard)
    again = []
    for shard in waiting:
        if strip_revision(shard.name) in begun:
            again.append(shard)
    if again:
        return WaveStarted(number=number, wave="again", shards=tuple(shard.name for shard in again))
    if recipe.migration.atomic:
        size = len(fresh)
    else:
        size = _size(state, recipe)
    return WaveStarted(number=number, wave="sweep", shards=tuple(shard.name for shard in fresh[:size]))


def is_requested_again(state: RunState, wave: WaveStarted) -> bool:
    """Whether a wave only does again what a person wants done again."""
    files = (state.files[path] for name in wave.shards for path in state.shards[name].files)
    return wave.wave == "again" and all(file.is_asked_for for file in files if not file.status.is_terminal)


def find_sample_wave(state: RunState) -> Wave | None:
    """The wave of the sample, as long as nothing but the sample has been begun."""
    if any(wave.kind == "sweep" for wave in state.waves):
        return None
    return next((wave for wave in state.waves if wave.kind == "sample"), None)


def _size(state: RunState, recipe: Recipe) -> int:
    """How many shards the next wave of the sweep has: each is larger than the one before."""
    earlier = sum(wave.kind == "sweep" for wave in state.waves)
    return max(1, round(recipe.sample.first * recipe.sample.growth**earlier))


def _is_open(state: RunState, shard: Shard) -> bool:
    return any(not state.files[path].status.is_terminal for path in shard.files)


def plan_remaining_shards(state: RunState) -> ShardsPlanned | None:
    """What is to come of files whose shard has landed, as its next revision; None when there is nothing of the kind."""
    rest = []
    for shard in state.shards.values():
        if shard.commit is None:
            continue
        left = tuple(path for path in shard.files if state.files[path].is_pending)
        if left:
            rest.append(Shard(name=_free(state, shard.name), files=left, owner=shard.owner))
    if rest:
        return ShardsPlanned(shards=tuple(rest))
    return None


def _free(state: RunState, name: str) -> str:
    name = build_next_shard_name(name)
    while name in state.shards:
        name = build_next_shard_name(name)
    return name
