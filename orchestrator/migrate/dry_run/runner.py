"""A migration as far as its first queue: what the steps that ask nobody make of the files. Nothing lands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from orchestrator.domain.event.migration import WaveStarted
from orchestrator.domain.ids import CommitId, Purpose, TreeId
from orchestrator.domain.migration.files import FileRecord, FileStatus, SitePlace, Wave
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import open_stoppable_group, require_not_stopping
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.ladder.passes import Pass, list_files_to_queue, list_passes
from orchestrator.migrate.run.pass_runner import PassRunner
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD
from orchestrator.migrate.sites.finder import find_sites, needs_workspace
from orchestrator.migrate.steps.step_io import StepTally
from orchestrator.ports.gate import GateResult
from worktrees.object_store.trees import list_tree, map_tree, read_files

_ASK_NOBODY = frozenset({"command", "rewrite"})


@dataclass(frozen=True)
class DryRunResult:
    """The changes that the steps made of the files. Steps that are not in `steps` were not tried.

    `union` is the base with all changes that would go to the queue, the base itself if there are none.
    `remaining_sites` are those that the files which were tried have there, `verdict` is the gate's on it,
    if it was asked.
    """

    union: CommitId
    paths: tuple[str, ...]
    steps: Mapping[int, StepTally] = field(default_factory=dict)
    remaining_sites: Mapping[str, tuple[SitePlace, ...]] = field(default_factory=dict)
    verdict: GateResult | None = None


class DryRunner:
    """Lets the files of a run, or of its sample, climb to the first queue.

    Args:
        context: a run in a scratch directory, at its beginning.
        slots: how many of a step's commands may run at a time.
        only_sample: leave the other files alone.
        verify: run the gate on the base and on all changes together.
    """

    def __init__(self, context: RunContext, slots: int, *, only_sample: bool, verify: bool) -> None:
        self._context = context
        self._slots = slots
        self._only_sample = only_sample
        self._verify = verify
        self._recipe = context.state.migration.require_recipe()

    async def run_to_queue(self) -> DryRunResult:
        """Run the steps and return what came of it.

        Raises:
            OrchestrateError: it had to stop.
        """
        context, run = self._context, self._context.state.run
        async with open_stoppable_group(context, lambda: None):
            require_not_stopping(context)
            paths = frozenset(entry.path for entry in await list_tree(context.repository.git, run.base))
            gate = MigrationGate(context, self._recipe, paths)
            if self._verify:
                await gate.record_baseline()
            wave, rungs = await self._start_wave(), self._list_rungs()
            runner = PassRunner(context, self._recipe, gate.rules, self._slots)
            tallies = await runner.run_pass(wave, Pass(rungs))
            require_not_stopping(context)
            files = self._list_files(wave)
            commit, tree = await self._commit_union(files)
            verdict = None
            if self._verify and commit != run.base:
                verdict = await gate.judge_tree(commit, tree, Purpose("a dry run"))
            steps = {rung: tallies.get(rung, StepTally()) for rung in rungs}
            remaining = await self._find_remaining_sites(commit, files)
            return DryRunResult(commit, tuple(file.path for file in files), steps, remaining, verdict)
        raise AssertionError("the block above returns or raises")

    def _list_rungs(self) -> tuple[int, ...]:
        """Return the steps before the first queue, up to the first one that would have to ask somebody."""
        steps = self._recipe.step
        return tuple(takewhile(lambda rung: steps[rung].kind in _ASK_NOBODY, list_passes(self._recipe)[0].rungs))

    async def _start_wave(self) -> Wave:
        """Begin one wave with all shards, or with the sample."""
        shards = self._context.state.migration.shards
        started = WaveStarted(number=1, wave="sweep", shards=tuple(shards))
        if self._only_sample and SAMPLE_SHARD in shards:
            started = WaveStarted(number=1, wave="sample", shards=(SAMPLE_SHARD,))
        await self._context.journal.append(started)
        return self._context.state.migration.waves[-1]

    def _list_files(self, wave: Wave) -> list[FileRecord]:
        state = self._context.state
        files = state.migration.list_files(map(state.migration.shards.__getitem__, wave.shards))
        return [file for file in files if file.status != FileStatus.SKIPPED]

    async def _commit_union(self, files: list[FileRecord]) -> tuple[CommitId, TreeId]:
        """Return the base with all changes that would go to the queue, as a commit and its tree."""
        run = self._context.state.run
        changes = {file.path: (file.mode, file.blob) for file in list_files_to_queue(files) if file.blob}
        if not changes:
            return run.base, run.base_tree
        return await self._context.commit_changes(run.base, changes, "A dry run\n")

    async def _find_remaining_sites(
        self, commit: CommitId, files: list[FileRecord]
    ) -> Mapping[str, tuple[SitePlace, ...]]:
        """Return by path the sites that would remain in the files that were tried."""
        scope, paths = self._recipe.work_scope, {file.path for file in files}
        if not scope.site:
            return {}
        git = self._context.repository.git
        standing = await map_tree(git, commit)
        contents = await read_files(git, {path: standing[path] for path in paths & standing.keys()})
        if not needs_workspace(scope):
            return (await find_sites(scope, contents)).places
        async with self._context.lend_workspace(commit, Purpose("sites that would remain")) as workspace:
            return (await find_sites(scope, contents, workspace)).places
