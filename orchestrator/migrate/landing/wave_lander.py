"""Landing the files of a wave: one commit a shard, in a union that passed the gate; the guilty are sent back."""

from collections.abc import Sequence

from orchestrator.domain.event.landing import RefSet, RefSetting, UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Wave
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, list_blast_radius_reasons
from orchestrator.migrate.judging.gate import MigrationGate, ShardGate
from orchestrator.migrate.ladder.passes import Pass, is_already_landed, is_changed, list_files_to_queue
from orchestrator.migrate.ladder.waves import list_wave_files, list_wave_shards
from orchestrator.migrate.landing.ejection_reason import build_ejection_signature, format_ejection_reason
from orchestrator.migrate.landing.file_units import FileUnits
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.planning import read_import_graph
from orchestrator.migrate.sites.current_counts import count_current_sites
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import Gate
from orchestrator.queue.composition import OverlayComposer, UnitConflict
from orchestrator.queue.lander import Lander
from worktrees.object_store.trees import list_tree
from worktrees.ref_store.refs import set_ref


class WaveLander:
    """The landings of one run. A unit of the queue is a file, named by its path."""

    def __init__(self, context: RunContext, gate: MigrationGate) -> None:
        self._context = context
        self._gate = gate
        self._units = FileUnits(context)

    @property
    def _recipe(self) -> Recipe:
        return Recipe.model_validate(self._context.state.recipe)

    async def protect_contents(self, wave: Wave, start: CommitId) -> None:
        """Point a ref at what the ladder has made of the wave's files so far, landed or not, so that git keeps it."""
        files = list_wave_files(self._context.state, wave)
        made = {UnitId(f.path): (f.mode, blob) for f in files if (blob := f.blob or f.tried)}
        if not made:
            return
        composer = OverlayComposer(self._context.repository.git, made, _made, self._context.commit_date)
        composed = await composer.compose_union(start, sorted(made))
        assert not isinstance(composed, UnitConflict), "nothing is expected to stand where these are put"
        ref, journal = self._context.refs.build_wave_ref(wave.number), self._context.journal
        setting = RefSetting(key=journal.build_next_key(f"ref/{ref}"), ref=ref, object=composed.commit)
        async with record_effect(journal, setting) as happening:
            await set_ref(self._context.repository.git, ref, composed.commit)
            happening.done = RefSet(key=setting.key)

    async def land_wave(self, name: str, wave: Wave, group: Pass, *, is_atomic: bool) -> None:
        """Find which of the wave's changed files are green together, and land them.

        What came further than this pass is left to its own one: a process that goes on begins with the first pass
        again, and what people said of that holds for nothing else.

        Args:
            name: the landing's name in events.
            wave: whose files.
            group: the pass that was climbed last.
            is_atomic: land all of them or none.

        Raises:
            PersonNeeded: a person is to be asked first, or the branch is not as it should be.
        """
        await self._mark_landed(wave)
        climbed = (file for file in list_wave_files(self._context.state, wave) if not group.is_behind(file))
        files = await self._hold_alone(name, list_files_to_queue(climbed))
        if self._must_be_seen(files):
            files = await self._hold(name, files, self._gate, is_atomic=is_atomic)
        if not files or not await self._may_land(name, files):
            return
        context, units = self._context, [UnitId(file.path) for file in files]
        lander = Lander(context.journal, self._gate, context.branch, context.hooks)
        targeting, composer = self._units.build_targeting(units), self._units.build_composer(files)
        landing = await lander.land_units(name, units, composer, targeting, atomic=is_atomic)
        await self._mark_landed(wave, [file for file in files if file.path in landing.landed])
        for ejected in landing.ejected:
            await self._mark_ejected(ejected)

    async def _hold_alone(self, name: str, files: Sequence[FileRecord]) -> Sequence[FileRecord]:
        """The files whose shards are green by the checks of level shard; of a red shard the guilty are sent back."""
        if not files or not any(check.level == "shard" for check in self._recipe.verify.check):
            return files
        graph = await read_import_graph(self._context.repository.git, self._context.state.run.base)
        for shard, units in self._units.split_by_shard([UnitId(file.path) for file in files]):
            members = []
            for file in files:
                if file.path in units:
                    members.append(file)
            await self._hold(f"{name} shard {shard}", members, ShardGate(self._gate, shard, graph.find_dependents))
        return [file for file in files if is_changed(self._context.state.files[file.path])]

    async def _hold(
        self, name: str, files: Sequence[FileRecord], gate: Gate, *, is_atomic: bool = False
    ) -> list[FileRecord]:
        """The files that are green together, none of which lands yet; the guilty are sent back."""
        context, units = self._context, [UnitId(file.path) for file in files]
        lander = Lander(context.journal, gate, context.branch)
        targeting = self._units.build_targeting(units, beside_landed=gate is self._gate)
        composer = self._units.build_composer(files)
        found = await lander.land_units(name, units, composer, targeting, atomic=is_atomic, moves=False)
        for ejected in found.ejected:
            await self._mark_ejected(ejected)
        return [file for file in files if file.path in found.landed]

    def _must_be_seen(self, files: Sequence[FileRecord]) -> list[str]:
        """Why a pass is too large or too delicate to land unseen, in words; empty where nobody is asked."""
        settings = self._context.config.approval
        if settings.mode == "review":
            return list_blast_radius_reasons(settings, [file.path for file in files], 0)
        return []

    async def _may_land(self, name: str, files: Sequence[FileRecord]) -> bool:
        """Ask a person before a large or delicate pass lands, if that is configured; a no rejects its files.

        What people are asked about is green: `_hold` has sent back what is not.
        """
        if not (reasons := self._must_be_seen(files)):
            return True
        title = f"land {name}: {len(files)} file{'s' * (len(files) != 1)}"
        detail = [*reasons, "the gate is green with it"]
        answer = await ask_person(self._context, build_run_approval(self._context, "landing", name, title, detail))
        if answer.decision == "deny":
            reason = f"a person did not let it land: {answer.reason or f'denied by {answer.by}'}"
            await self._context.journal.append(
                *(FileMoved(path=f.path, status=FileStatus.REJECTED, rung=f.rung, reason=reason) for f in files)
            )
        return answer.decision == "approve"

    async def _mark_landed(self, wave: Wave, moved: Sequence[FileRecord] = ()) -> None:
        """Book as landed whatever stands on the branch: git says what has landed, not memory.

        `moved` are files as they were put on the branch: what a person has said of them since holds for them no more.
        """
        state, tip = self._context.state, self._context.state.head
        of_wave = {}
        for shard in list_wave_shards(state, wave):
            for path in shard.files:
                of_wave[path] = state.files[path]
        of_wave |= {file.path: file for file in moved if state.files[file.path].status != FileStatus.MERGED}
        files = [file for file in of_wave.values() if _may_stand(file)]
        if tip is None or not files:
            return
        git = self._context.repository.git
        standing = {}
        for entry in await list_tree(git, tip, [file.path for file in files]):
            standing[entry.path] = entry.oid
        landed = [file for file in files if file.blob is not None and standing.get(file.path) == file.blob]
        left = (
            await count_current_sites(self._context, self._recipe, landed)
            if self._recipe.work_scope.site and landed
            else {}
        )
        await self._context.journal.append(
            *(
                FileMoved(path=f.path, status=FileStatus.MERGED, rung=f.rung, blob=f.blob, left=left.get(f.path))
                for f in landed
            )
        )

    async def _mark_ejected(self, ejected: UnitEjected) -> None:
        file = self._context.state.files[ejected.unit]
        if file.status == FileStatus.MERGED:
            return  # somebody put on the branch what the ladder made of it, too
        output, landed = "", {f.path for f in self._context.state.files.values() if f.status == FileStatus.MERGED}
        if ejected.receipts:
            output = await self._context.journal.read_text(self._context.state.receipts[ejected.receipts[-1]].output)
        await self._context.journal.append(
            FileMoved(
                path=file.path,
                status=FileStatus.EJECTED,
                rung=file.rung,
                reason=format_ejection_reason(ejected, landed),
                signature=build_ejection_signature(ejected, output),
            )
        )


def _may_stand(file: FileRecord) -> bool:
    """Whether what the ladder made of a file may be on the branch; also of one that was left out as it landed."""
    is_left_out = file.status == FileStatus.SKIPPED and file.is_overtaken and file.blob not in {None, file.branch_blob}
    return is_changed(file) or is_already_landed(file) or is_left_out


def _made(_part: str, _units: Sequence[UnitId]) -> str:
    return "What the ladder made\n"
