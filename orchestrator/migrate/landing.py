"""Landing the files of a wave: one commit a shard, in a union that passed the gate; the guilty are sent back."""

from collections.abc import Sequence

from orchestrator.domain.check import Difference
from orchestrator.domain.event.landing import RefSet, RefSetting, UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration import FileRecord, FileStatus, Wave
from orchestrator.domain.plain import inert_title
from orchestrator.engine.approvals import ask, question, radius
from orchestrator.engine.context import RunContext
from orchestrator.engine.stopping import require_going
from orchestrator.judge.flakes import UNSETTLED
from orchestrator.judge.signature import failure_excerpt, signature
from orchestrator.migrate.ladder import is_changed, to_queue
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.sites import count_sites
from orchestrator.migrate.wave import wave_files
from orchestrator.ports.effect import effect
from orchestrator.ports.gate import Gate, GateResult
from orchestrator.queue.compose import OverlayComposer
from orchestrator.queue.lander import Lander
from worktrees.refs import set_ref
from worktrees.trees import list_tree, read_blobs


class Landings:
    """The landings of one run. A unit of the queue is a file, named by its path."""

    def __init__(self, context: RunContext, gate: Gate) -> None:
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
        composer = OverlayComposer(self._context.repository.git, made, lambda _: "What the ladder made\n", self._when)
        composed = await composer.compose(start, sorted(made))
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
        files = to_queue(wave_files(self._context.state, wave))
        if not files or not await self._may_land(name, files):
            return
        context = self._context
        lander = Lander(context.journal, self._gate, context.branch, context.hooks)
        landing = await lander.land(name, [UnitId(file.path) for file in files], self._composer(files))
        await self._mark_landed(wave)
        for ejected in landing.ejected:
            await self._mark_ejected(ejected)

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

    def _composer(self, files: Sequence[FileRecord]) -> OverlayComposer:
        changes = {UnitId(file.path): (file.mode, file.blob) for file in files if file.blob is not None}
        return OverlayComposer(self._context.repository.git, changes, self._message, self._when)

    def _message(self, units: Sequence[UnitId]) -> str:
        return self._shard_message("all", units)

    def _shard_message(self, shard: str, units: Sequence[UnitId]) -> str:
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
        files = [file for file in wave_files(self._context.state, wave) if is_changed(file)]
        if tip is None or not files:
            return
        git = self._context.repository.git
        standing = {entry.path: entry.oid for entry in await list_tree(git, tip, [file.path for file in files])}
        landed = [file for file in files if file.blob is not None and standing.get(file.path) == file.blob]
        contents = await read_blobs(git, [file.blob for file in landed if file.blob]) if self._recipe.scope.site else {}
        left = {oid: count_sites(self._recipe.scope, content) for oid, content in contents.items()}
        await self._context.journal.append(
            *(
                FileMoved(path=f.path, status=FileStatus.MERGED, rung=f.rung, blob=f.blob, left=left.get(f.blob or ""))
                for f in landed
            )
        )

    async def _mark_ejected(self, ejected: UnitEjected) -> None:
        file = self._context.state.files[ejected.unit]
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
                signature=signature(failure_excerpt(output, lost or ejected.difference.unsettled)),
            )
        )


class DrainableGate:
    """A gate that starts no further test run once the run drains."""

    def __init__(self, context: RunContext, gate: Gate) -> None:
        self._context = context
        self._gate = gate

    async def judge(self, commit: CommitId, tree: TreeId, purpose: str, fresh: bool = False) -> GateResult:
        require_going(self._context)
        return await self._gate.judge(commit, tree, purpose, fresh)


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
