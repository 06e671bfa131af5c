"""Landing the files of a wave: one commit a shard, in a union that passed the gate; the guilty are sent back."""

from collections.abc import Sequence

from orchestrator.domain.check import Difference
from orchestrator.domain.event.landing import RefSet, RefSetting, UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.migration import FileRecord, FileStatus, Wave
from orchestrator.domain.plain import inert_title
from orchestrator.engine.approvals import ask, question, radius
from orchestrator.engine.context import RunContext
from orchestrator.judge.flakes import UNSETTLED
from orchestrator.judge.signature import failure_excerpt, signature
from orchestrator.migrate.judging.gate import MigrationGate, ShardGate
from orchestrator.migrate.judging.suspects import SourceEvidence
from orchestrator.migrate.ladder import is_changed, stands_again, to_queue
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.scope.counting import sites_now
from orchestrator.migrate.scope.pairs import blocks
from orchestrator.migrate.scope.planning import read_imports
from orchestrator.migrate.wave import wave_files
from orchestrator.ports.effect import effect
from orchestrator.queue.compose import Clash, OverlayComposer
from orchestrator.queue.lander import Lander, Targeting
from worktrees.refs import set_ref
from worktrees.trees import list_tree


class Landings:
    """The landings of one run. A unit of the queue is a file, named by its path."""

    def __init__(self, context: RunContext, gate: MigrationGate) -> None:
        self._context = context
        self._gate = gate

    @property
    def _recipe(self) -> Recipe:
        return Recipe.model_validate(self._context.state.recipe)

    async def protect(self, wave: Wave, start: CommitId) -> None:
        """Point a ref at what the ladder has made of the wave's files so far, landed or not, so that git keeps it."""
        files = wave_files(self._context.state, wave)
        made = {UnitId(f.path): (f.mode, blob) for f in files if (blob := f.blob or f.tried)}
        if not made:
            return
        composer = OverlayComposer(self._context.repository.git, made, _made, self._when)
        composed = await composer.compose(start, sorted(made))
        assert not isinstance(composed, Clash), "nothing is expected to stand where these are put"
        ref, journal = self._context.ref("steps", f"wave-{wave.number}"), self._context.journal
        setting = RefSetting(key=journal.next_key(f"ref/{ref}"), ref=ref, object=composed.commit)
        async with effect(journal, setting) as happening:
            await set_ref(self._context.repository.git, ref, composed.commit)
            happening.done = RefSet(key=setting.key)

    @property
    def _when(self) -> str:
        return self._context.when

    async def land(self, name: str, wave: Wave, *, is_atomic: bool) -> None:
        """Find which of the wave's changed files are green together, and land them.

        Args:
            name: the landing's name in events.
            wave: whose files.
            is_atomic: land all of them or none.

        Raises:
            PersonNeeded: a person is to be asked first, or the branch is not as it should be.
        """
        await self._mark_landed(wave)
        files: Sequence[FileRecord] = to_queue(wave_files(self._context.state, wave))
        if not files or not await self._may_land(name, files):
            return
        files = await self._hold_alone(name, files)
        context = self._context
        lander = Lander(context.journal, self._gate, context.branch, context.hooks)
        units = [UnitId(file.path) for file in files]
        if not units:
            return
        landing = await lander.land(name, units, self._composer(files), self._targeting(units), atomic=is_atomic)
        await self._mark_landed(wave)
        for ejected in landing.ejected:
            await self._mark_ejected(ejected)

    async def _hold_alone(self, name: str, files: Sequence[FileRecord]) -> Sequence[FileRecord]:
        """The files whose shards are green by the checks of level shard; of a red shard the guilty are sent back."""
        if not any(check.level == "shard" for check in self._recipe.verify.check):
            return files
        context, composer = self._context, self._composer(files)
        graph = await read_imports(context.repository.git, context.state.run.base)
        for shard, units in self._parts([UnitId(file.path) for file in files]):
            lander = Lander(context.journal, ShardGate(self._gate, shard, graph.reached), context.branch)
            found = await lander.land(f"{name} shard {shard}", units, composer, self._targeting(units), moves=False)
            for ejected in found.ejected:
                await self._mark_ejected(ejected)
        return [file for file in files if is_changed(context.state.files[file.path])]

    async def _may_land(self, name: str, files: Sequence[FileRecord]) -> bool:
        """Ask a person before a large or delicate pass lands, if that is configured; a no rejects its files."""
        reasons = radius(self._context.config.approval, [file.path for file in files], 0)
        if self._context.config.approval.mode != "review" or not reasons:
            return True
        title = f"land {name}: {len(files)} files"
        answer = await ask(self._context, question(self._context, "landing", name, title, reasons))
        if answer.decision == "deny":
            reason = f"a person did not let it land: {answer.reason or f'denied by {answer.by}'}"
            await self._context.journal.append(
                *(FileMoved(path=f.path, status=FileStatus.REJECTED, rung=f.rung, reason=reason) for f in files)
            )
        return answer.decision == "approve"

    def _targeting(self, units: Sequence[UnitId]) -> Targeting:
        """How a red union is searched: by what failures and tests point at, and with what stays together in groups."""
        evidence = SourceEvidence(self._context.repository.git, self._context.journal)
        rules = self._recipe.merge
        if rules.bisect_unit == "shard" or rules.on_red == "reject-shard":
            groups = [tuple(members) for _, members in self._parts(units)]
        else:
            together = blocks(units, self._recipe.shard.pair)
            groups = [tuple(map(UnitId, block)) for block in together if len(block) > 1]
        return Targeting(evidence, groups=groups, reruns=self._recipe.verify.flaky_reruns)

    def _composer(self, files: Sequence[FileRecord]) -> OverlayComposer:
        changes = {UnitId(file.path): (file.mode, file.blob) for file in files if file.blob is not None}
        expected = {UnitId(file.path): file.stands for file in files}
        git = self._context.repository.git
        return OverlayComposer(git, changes, self._message, self._when, self._parts, expected)

    def _parts(self, units: Sequence[UnitId]) -> list[tuple[str, list[UnitId]]]:
        """The units by the shards they are in, in the order of the shards."""
        wanted = set(units)
        shards = self._context.state.shards.values()
        parts = [(one.name, [UnitId(path) for path in one.files if UnitId(path) in wanted]) for one in shards]
        return [(name, members) for name, members in parts if members]

    def _message(self, shard: str, units: Sequence[UnitId]) -> str:
        files = [self._context.state.files[unit] for unit in units]
        rungs = ", ".join(self._recipe.step[rung].id for rung in sorted({file.rung for file in files}))
        trailers = {
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Shard": shard,
            "Rung": rungs,
            "Orchestrate-Run": self._context.state.run.run,
        }
        lines = "\n".join(f"{name}: {value}" for name, value in trailers.items())
        return f"{inert_title(self._recipe.title)} ({len(units)} files)\n\n{lines}\n"

    async def _mark_landed(self, wave: Wave) -> None:
        """Book as landed whatever stands on the branch: git says what has landed, not memory."""
        tip = self._context.state.head
        files = [f for f in wave_files(self._context.state, wave) if is_changed(f) or stands_again(f)]
        if tip is None or not files:
            return
        git = self._context.repository.git
        standing = {entry.path: entry.oid for entry in await list_tree(git, tip, [file.path for file in files])}
        landed = [file for file in files if file.blob is not None and standing.get(file.path) == file.blob]
        left = await sites_now(self._context, self._recipe, landed) if self._recipe.work_scope.site and landed else {}
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
        lost = (*ejected.difference.new_failures, *ejected.difference.missing_tests, *ejected.difference.newly_skipped)
        output = ""
        if ejected.receipts:
            output = await self._context.journal.read(self._context.state.receipts[ejected.receipts[-1]].output)
        await self._context.journal.append(
            FileMoved(
                path=file.path,
                status=FileStatus.EJECTED,
                rung=file.rung,
                reason=_why(lost, ejected),
                signature=_sign(output, lost, ejected.difference),
            )
        )


def _made(_part: str, _units: Sequence[UnitId]) -> str:
    return "What the ladder made\n"


def _sign(output: str, lost: Sequence[str], difference: Difference) -> str:
    """What failed of it, without what varies: of tests what they printed, of anything else its own words."""
    if not lost and not difference.unsettled and difference.problems:
        return signature(difference.problems[0].partition(": ")[2] or difference.problems[0])
    return signature(failure_excerpt(output, lost or difference.unsettled))


def _why(lost: Sequence[str], ejected: UnitEjected) -> str:
    partners = f", only together with {', '.join(ejected.partners)}" if ejected.partners else ""
    return _what(lost, ejected.difference, ejected.conflict) + partners


def _what(lost: Sequence[str], difference: Difference, conflict: Sequence[str]) -> str:
    if conflict:
        return "somebody changed it on the PR branch meanwhile"
    if difference.is_unsettled:
        return f"{UNSETTLED}: {', '.join(difference.unsettled[:3])}"
    if not lost:
        return "; ".join(difference.problems) or "the gate is red with it"
    shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return f"breaks {len(lost)} test{'s' * (len(lost) != 1)}: {shown}"
