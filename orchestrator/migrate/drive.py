"""A migration from inventory to pull request. Like the engine, it knows nothing but the journal's state."""

from collections.abc import Sequence
from functools import partial

from orchestrator.domain.check import Difference
from orchestrator.domain.event.landing import RefSet, RefSetting, UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import Outcome
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.domain.plain import inert_title
from orchestrator.engine.approvals import ask, question, radius
from orchestrator.engine.context import RunContext
from orchestrator.engine.finish import end_run, open_pull_request
from orchestrator.engine.stopping import require_going, stoppable
from orchestrator.judge.flakes import UNSETTLED
from orchestrator.judge.signature import failure_excerpt, signature
from orchestrator.migrate.bench import StepRun
from orchestrator.migrate.evidence import SourceEvidence
from orchestrator.migrate.inventory import count_sites
from orchestrator.migrate.ladder import leftover, passes, takes, to_queue
from orchestrator.migrate.pr_text import migration_body
from orchestrator.migrate.recipe import Recipe, Step
from orchestrator.migrate.transform import run_step
from orchestrator.ports.effect import effect
from orchestrator.ports.gate import GateResult
from orchestrator.queue.compose import Clash, OverlayComposer
from orchestrator.queue.lander import Lander, Targeting
from worktrees.refs import set_ref
from worktrees.trees import read_blobs


class MigrationRun:
    """Takes the files in scope up the recipe's ladder, through the queue, into one pull request."""

    def __init__(self, context: RunContext, recipe: Recipe, slots: int) -> None:
        self._context = context
        self._recipe = recipe
        self._slots = slots

    async def execute(self) -> None:
        """Run to the end, or from wherever an earlier process left off.

        Raises:
            OrchestrateError: the run had to stop before its end; it can be resumed.
        """
        context, run = self._context, self._context.state.run
        if context.state.ended is not None:
            return  # another process ended it after this one had found it open
        async with stoppable(context, lambda: None):
            require_going(context)
            await context.gate.record_baseline(run.base, run.base_tree)
            for number, group in enumerate(passes(self._recipe), start=1):
                await self._climb(group)
                await self._land(f"pass {number}")
            await self._finish()

    async def _climb(self, group: Sequence[int]) -> None:
        """Run the group's steps in order; what was done in an earlier process is not done again."""
        start = await self._context.head()
        for rung in group:
            step = self._recipe.step[rung]
            files = await self._taken(rung)
            if files or self._was_cut_off(step):
                keep = partial(self._protect, step.id, start)
                await run_step(self._context, StepRun(step, rung, start, self._slots), files, keep)

    def _was_cut_off(self, step: Step) -> bool:
        """Whether an earlier process began the step and did not live to see its end."""
        state = self._context.state
        return state.tries[f"step/{step.id}"] > 0 and step.id not in state.steps

    async def _taken(self, rung: int) -> list[FileRecord]:
        step, counts = self._recipe.step[rung], bool(self._recipe.scope.site)
        files = list(self._context.state.files.values())
        left = await self._sites_now(files) if step.when == "sites-left" and counts else {}
        return [file for file in files if takes(step, rung, file, left.get(file.path, 0), counts)]

    async def _sites_now(self, files: Sequence[FileRecord]) -> dict[str, int]:
        contents = await read_blobs(self._context.repository.git, [file.blob or file.base for file in files])
        return {file.path: count_sites(self._recipe.scope, contents[file.blob or file.base]) for file in files}

    async def _protect(self, step: str, start: CommitId) -> None:
        """Point a ref at what the ladder has made so far, so that git keeps it."""
        units = [UnitId(file.path) for file in to_queue(self._context.state.files.values())]
        composed = await self._composer().compose(start, units)
        if isinstance(composed, Clash):
            return  # it cannot be: nothing is expected to stand where these are put
        ref, journal = self._context.ref("steps", step), self._context.journal
        setting = RefSetting(key=journal.next_key(f"ref/{ref}"), ref=ref, object=composed.commit)
        async with effect(journal, setting) as happening:
            await set_ref(self._context.repository.git, ref, composed.commit)
            happening.done = RefSet(key=setting.key)

    async def _land(self, name: str) -> None:
        await self._mark_landed()
        files = to_queue(self._context.state.files.values())
        if not files or not await self._may_land(name, files):
            return
        context = self._context
        lander = Lander(context.journal, _DrainableGate(context), context.branch, context.hooks)
        evidence = SourceEvidence(context.repository.git, context.journal)
        targeting = Targeting(evidence, reruns=self._recipe.verify.flaky_reruns)
        landing = await lander.land(name, [UnitId(file.path) for file in files], self._composer(), targeting)
        await self._mark_landed()
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

    def _composer(self) -> OverlayComposer:
        files = self._context.state.files.values()
        changes = {UnitId(file.path): (file.mode, file.blob) for file in files if file.blob is not None}
        return OverlayComposer(self._context.repository.git, changes, self._message, self._context.when)

    def _message(self, part: str, units: Sequence[UnitId]) -> str:
        files = [self._context.state.files[unit] for unit in units]
        rungs = ", ".join(self._recipe.step[rung].id for rung in sorted({file.rung for file in files}))
        trailers = {
            "Migration-Id": self._recipe.migration.id,
            "Recipe-Rev": self._recipe.revision,
            "Shard": part,
            "Rung": rungs,
            "Orchestrate-Run": self._context.state.run.run,
        }
        lines = "\n".join(f"{name}: {value}" for name, value in trailers.items())
        return f"{inert_title(self._recipe.title)} ({len(units)} files)\n\n{lines}\n"

    async def _mark_landed(self) -> None:
        landed = self._context.state.landed_units
        files = [file for file in to_queue(self._context.state.files.values()) if UnitId(file.path) in landed]
        await self._context.journal.append(
            *(FileMoved(path=f.path, status=FileStatus.MERGED, rung=f.rung, blob=f.blob) for f in files)
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
                reason=_why(lost, ejected.difference),
                signature=signature(failure_excerpt(output, lost or ejected.difference.unsettled)),
            )
        )

    async def _finish(self) -> None:
        context = self._context
        ends = [(file, end) for file in context.state.files.values() if (end := leftover(file)) is not None]
        await context.journal.append(*(_last_move(file, end) for file, end in ends))
        outcome, reason = _outcome(list(context.state.files.values()))
        await open_pull_request(context, self._recipe.title, migration_body(context.state, self._recipe, reason))
        await end_run(context, outcome, reason)


class _DrainableGate:
    """The run's gate, which starts no further test run once the run drains."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def judge(
        self, commit: CommitId, tree: TreeId, purpose: str, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        require_going(self._context)
        return await self._context.gate.judge(commit, tree, purpose, fresh, reruns)

    async def probe(
        self, commit: CommitId, tree: TreeId, purpose: str, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        require_going(self._context)
        return await self._context.gate.probe(commit, tree, purpose, symptoms, look)


def _last_move(file: FileRecord, end: FileStatus) -> FileMoved:
    reason = "" if file.reason or end != FileStatus.UNCHANGED else "it has sites, and no step changed it"
    return FileMoved(path=file.path, status=end, rung=file.rung, blob=file.blob, reason=reason, signature=reason)


def _why(lost: Sequence[str], difference: Difference) -> str:
    if difference.is_unsettled:
        return f"{UNSETTLED}: {', '.join(difference.unsettled[:3])}"
    if not lost:
        return "; ".join(difference.problems) or "the gate is red with it"
    shown = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return f"breaks {len(lost)} test{'s' * (len(lost) != 1)}: {shown}"


def _outcome(files: Sequence[FileRecord]) -> tuple[Outcome, str]:
    landed = sum(file.status == FileStatus.MERGED for file in files)
    rejected = sum(file.status == FileStatus.REJECTED for file in files)
    unchanged = sum(file.status == FileStatus.UNCHANGED for file in files)
    left = f", {unchanged} could not be changed" if unchanged else ""
    if landed and not rejected and not unchanged:
        return "done", f"all {landed} changed files landed"
    if landed:
        return "partial", f"{landed} files landed, {rejected} rejected{left}"
    if rejected:
        return "rejected", f"none of {rejected} changed files could land{left}"
    return "nothing-changed", f"no step changed any of the {len(files)} files in scope"
