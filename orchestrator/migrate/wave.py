"""Which shards go up the ladder together, and which files that concerns. Pure rules over the state of a run."""

import re

from orchestrator.domain.event.migration import ShardsPlanned, WaveStarted
from orchestrator.domain.migration import FileRecord, Shard, Wave, next_revision
from orchestrator.domain.state import RunState
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.shards import SAMPLE

_REVISION = re.compile(r"(\.r\d+)+\Z")


def family(name: str) -> str:
    """`core` for `core`, `core.r1` and `core.r2`."""
    return _REVISION.sub("", name)


def current(state: RunState) -> Wave | None:
    """The wave under way."""
    return state.waves[-1] if state.waves and not state.waves[-1].is_over else None


def shards_of(state: RunState, wave: Wave) -> list[Shard]:
    """The wave's shards with all that came out of them."""
    families = {family(name) for name in wave.shards}
    return [shard for shard in state.shards.values() if family(shard.name) in families]


def wave_files(state: RunState, wave: Wave) -> list[FileRecord]:
    """The files of a wave that have not come to an end, in the order of their shards.

    Shards that are held are left; so is what a person has released or has had tried again since the wave began.
    """
    shards = (shard for shard in shards_of(state, wave) if not shard.held and shard.after_wave != wave.number)
    files = (state.files[path] for shard in shards for path in shard.files)
    return [file for file in files if not file.status.is_terminal and file.after_wave != wave.number]


def next_wave(state: RunState, recipe: Recipe) -> WaveStarted | None:
    """The next shards to begin with: the sample first, then more and more of the others; None when none is open."""
    waiting = [shard for shard in state.shards.values() if not shard.held and _is_open(state, shard)]
    if not waiting:
        return None
    number = len(state.waves) + 1
    if waiting[0].name == SAMPLE and not state.waves and not recipe.migration.atomic:
        return WaveStarted(number=number, wave="sample", shards=(SAMPLE,))
    begun = {family(name) for wave in state.waves for name in wave.shards}
    fresh = [shard for shard in waiting if family(shard.name) not in begun]
    again = [shard for shard in waiting if family(shard.name) in begun]
    if again:
        return WaveStarted(number=number, wave="again", shards=tuple(shard.name for shard in again))
    size = len(fresh) if recipe.migration.atomic else _size(state, recipe)
    return WaveStarted(number=number, wave="sweep", shards=tuple(shard.name for shard in fresh[:size]))


def is_asked_for(state: RunState, wave: WaveStarted) -> bool:
    """Whether a wave only does again what a person wants done again."""
    files = (state.files[path] for name in wave.shards for path in state.shards[name].files)
    return wave.wave == "again" and all(file.is_asked_for for file in files if not file.status.is_terminal)


def sample_before_sweep(state: RunState) -> Wave | None:
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


def rest_of_landed(state: RunState) -> ShardsPlanned | None:
    """What is to come of files whose shard has landed, as its next revision; None when there is nothing of the kind."""
    rest = []
    for shard in state.shards.values():
        if shard.commit is None:
            continue
        left = tuple(path for path in shard.files if state.files[path].is_to_come)
        if left:
            rest.append(Shard(name=_free(state, shard.name), files=left, owner=shard.owner))
    return ShardsPlanned(shards=tuple(rest)) if rest else None


def _free(state: RunState, name: str) -> str:
    name = next_revision(name)
    while name in state.shards:
        name = next_revision(name)
    return name
