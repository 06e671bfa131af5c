"""Keep what the ladder has made of files so far from git's clean-up, landed or not."""

from collections.abc import Sequence

from orchestrator.domain.event.landing import RefSet, RefSetting
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.migration.files import Wave
from orchestrator.engine.context import RunContext
from orchestrator.migrate.ladder.waves import list_wave_files
from orchestrator.ports.effect import record_effect
from orchestrator.queue.composition import OverlayComposer, UnitConflict
from worktrees.ref_store.refs import set_ref


async def protect_contents(context: RunContext, wave: Wave, start: CommitId) -> None:
    """Point a ref at what the ladder has made of the wave's files, on top of `start`, so that git keeps it."""
    contents = {}
    for file in list_wave_files(context.state, wave):
        blob = file.blob or file.tried
        if blob:
            contents[UnitId(file.path)] = (file.mode, blob)
    if not contents:
        return
    composer = OverlayComposer(context.repository.git, contents, _write_message, context.commit_date)
    composed = await composer.compose_union(start, sorted(contents))
    assert not isinstance(composed, UnitConflict), "nothing is expected to stand where these are put"
    await point_ref(context, context.refs.build_wave_ref(wave.number), composed.commit)


async def point_ref(context: RunContext, ref: str, commit: str) -> None:
    """Point a ref of the run's own at a commit, as a recorded effect."""
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{ref}"), ref=ref, object=commit)
    async with record_effect(context.journal, setting) as effect:
        await set_ref(context.repository.git, ref, commit)
        effect.done = RefSet(key=setting.key)


def _write_message(_part: str, _units: Sequence[UnitId]) -> str:
    return "What the ladder made\n"
