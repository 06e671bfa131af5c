"""Waves: the shards that go up the ladder together, and their files. Pure rules over the state of a run."""

from orchestrator.domain.event.migration import ShardsPlanned, WaveStarted
from orchestrator.domain.migration.files import FileRecord, Shard, Wave, build_next_shard_name
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD

_REVISION = compile_lazily(r"(\.r\d+)+\Z")


def strip_revision(name: str) -> str:
    """Return `core` for `core`, `core.r1` and `core.r2`."""
    return _REVISION.sub("", name)


def list_wave_shards(state: RunState, wave: Wave) -> list[Shard]:
    """Return the wave's shards with all that came out of them."""
    families = set(map(strip_revision, wave.shards))
    return [shard for shard in state.migration.shards.values() if strip_revision(shard.name) in families]


def list_wave_files(state: RunState, wave: Wave) -> list[FileRecord]:
    """Return the files of a wave that have not come to an end, in the order of their shards.

    Shards that are held are left; so is what a person has released or has had tried again since the wave began.
    """
    shards = (shard for shard in list_wave_shards(state, wave) if not shard.held and shard.after_wave != wave.number)
    files = state.migration.list_files(shards)
    return [file for file in files if not file.status.is_terminal and file.after_wave != wave.number]


def choose_next_wave(state: RunState, recipe: Recipe) -> WaveStarted | None:
    """Return the next wave: the sample first, then more and more of the other shards; None when none is open."""
    waiting = []
    for shard in state.migration.shards.values():
        is_over = all(file.status.is_terminal for file in state.migration.list_files([shard]))
        if not shard.held and not is_over:
            waiting.append(shard)
    if not waiting:
        return None
    number = len(state.migration.waves) + 1
    if waiting[0].name == SAMPLE_SHARD and not state.migration.waves and not recipe.is_one_wave:
        return WaveStarted(number=number, wave="sample", shards=(SAMPLE_SHARD,))
    begun: set[str] = set()
    for wave in state.migration.waves:
        begun.update(map(strip_revision, wave.shards))
    fresh, again = [], []
    for shard in waiting:
        if strip_revision(shard.name) in begun:
            again.append(shard.name)
        else:
            fresh.append(shard.name)
    if again:
        return WaveStarted(number=number, wave="again", shards=tuple(again))
    size = len(fresh) if recipe.is_one_wave else _choose_wave_size(state, recipe)
    return WaveStarted(number=number, wave="sweep", shards=tuple(fresh[:size]))


def is_requested_again(state: RunState, wave: WaveStarted) -> bool:
    """Return True if a wave only does again what a person wants done again."""
    if wave.wave != "again":
        return False
    files = state.migration.list_files(map(state.migration.shards.__getitem__, wave.shards))
    return all(file.is_asked_for or file.status.is_terminal for file in files)


def find_sample_wave(state: RunState) -> Wave | None:
    """Return the wave of the sample, as long as nothing but the sample has been begun."""
    waves = {wave.kind: wave for wave in reversed(state.migration.waves)}
    return None if "sweep" in waves else waves.get("sample")


def is_sample_again(wave: WaveStarted) -> bool:
    """Return True if files of the sample are done again in a wave, so that the sample cannot be judged before it."""
    return wave.wave == "again" and SAMPLE_SHARD in map(strip_revision, wave.shards)


def _choose_wave_size(state: RunState, recipe: Recipe) -> int:
    """Return how many shards the next wave of the sweep has: each is larger than the one before."""
    earlier = sum(wave.kind == "sweep" for wave in state.migration.waves)
    return max(1, round(recipe.sample.first * recipe.sample.growth**earlier))


def plan_remaining_shards(state: RunState) -> ShardsPlanned | None:
    """Return the next revisions of landed shards, with those of their files that go on; None when there are none."""
    rest = []
    for shard in state.migration.shards.values():
        if shard.commit is None:
            continue
        left = tuple(file.path for file in state.migration.list_files([shard]) if file.is_pending)
        if left:
            rest.append(Shard(name=_choose_free_name(state, shard.name), files=left, owner=shard.owner))
    return ShardsPlanned(shards=tuple(rest)) if rest else None


def _choose_free_name(state: RunState, name: str) -> str:
    name = build_next_shard_name(name)
    while name in state.migration.shards:
        name = build_next_shard_name(name)
    return name
