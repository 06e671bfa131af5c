"""A migration as far as its first queue: what the steps that ask nobody make of the files. Nothing lands."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.migration import FileMoved, StepFinished, StepStarted, WaveStarted
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.migration.files import FileRecord, FileStatus, SitePlace, Wave
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import open_stoppable_group, require_not_stopping
from orchestrator.migrate.judging.gate import build_gate
from orchestrator.migrate.ladder.passes import Pass, list_files_to_queue, list_passes
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.run.pass_runner import PassRunner
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD
from orchestrator.migrate.sites.finder import find_sites, needs_workspace
from orchestrator.ports.gate import GateResult
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree, read_blobs

_ASK_NOBODY = frozenset({"command", "rewrite"})


@dataclass
class StepTally:
    """What became of the files that one step took.

    `restored` were put back by the step's own harness, `refused` afterwards, because a rule did not hold. `cached` are
    results of earlier runs.
    """

    files: int = 0
    changed: int = 0
    unchanged: int = 0
    restored: int = 0
    refused: int = 0
    cached: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class DryRunResult:
    """What the steps made of the files. Steps that are not in `steps` were not tried.

    `union` is the base with all changes that would go to the queue, the base itself if there are none. `left` are the
    sites that the files which were tried have there, `verdict` is the gate's on it, if it was asked.
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
        self._recipe = Recipe.model_validate(context.state.recipe)
        self._steps: dict[int, StepTally] = {}
        self._under_way: int | None = None

    async def run_to_queue(self) -> DryRunResult:
        """Do it, and tell what came of it.

        Raises:
            OrchestrateError: it had to stop.
        """
        context, run = self._context, self._context.state.run
        context.journal.listeners.append(self._heard)
        async with open_stoppable_group(context, lambda: None):
            require_not_stopping(context)
            paths = frozenset(entry.path for entry in await list_tree(context.repository.git, run.base))
            gate = build_gate(context, self._recipe, paths)
            if self._verify:
                await gate.record_baseline()
            wave = await self._wave()
            await PassRunner(context, self._recipe, gate, self._slots).run_pass(wave, Pass(self._rungs()))
            require_not_stopping(context)
            files = self._files(wave)
            commit, tree = await self._union(files)
            verdict = await gate.judge_tree(commit, tree, "a dry run") if self._verify and commit != run.base else None
            steps = {rung: self._steps.setdefault(rung, StepTally()) for rung in self._rungs()}
            left = await self._left(commit, files)
            return DryRunResult(commit, tuple(file.path for file in files), steps, left, verdict)
        raise AssertionError("the block above returns or raises")

    def _rungs(self) -> tuple[int, ...]:
        """The steps before the first queue, up to the first one that would have to ask somebody."""
        steps = self._recipe.step
        return tuple(takewhile(lambda rung: steps[rung].kind in _ASK_NOBODY, list_passes(self._recipe)[0].rungs))

    async def _wave(self) -> Wave:
        """All shards, or the sample, in one wave."""
        shards = self._context.state.shards
        is_sample = self._only_sample and SAMPLE_SHARD in shards
        names = (SAMPLE_SHARD,) if is_sample else tuple(shards)
        kind = "sample" if is_sample else "sweep"
        await self._context.journal.append(WaveStarted(number=1, wave=kind, shards=names))
        return self._context.state.waves[-1]

    def _files(self, wave: Wave) -> list[FileRecord]:
        state = self._context.state
        files = [state.files[path] for name in wave.shards for path in state.shards[name].files]
        return [file for file in files if file.status != FileStatus.SKIPPED]

    def _heard(self, recorded: RecordedEvent) -> None:
        match recorded.event:
            case StepStarted(rung=rung, files=files):
                self._steps[rung] = StepTally(files=files)
                self._under_way = rung
            case StepFinished() as done if self._under_way is not None:
                tally = self._steps[self._under_way]
                tally.changed, tally.unchanged, tally.restored = done.changed, done.unchanged, done.restored
                tally.seconds, self._under_way = done.seconds, None
            case FileMoved(rung=rung, is_cached=True) if rung in self._steps:
                self._steps[rung].cached += 1
            case FileMoved(rung=rung, status=FileStatus.RESTORED) if self._under_way is None and rung in self._steps:
                self._steps[rung].refused += 1

    async def _union(self, files: list[FileRecord]) -> tuple[CommitId, TreeId]:
        """The base with all changes that would go to the queue."""
        run, git = self._context.state.run, self._context.repository.git
        changes = {file.path: (file.mode, file.blob) for file in list_files_to_queue(files) if file.blob}
        if not changes:
            return run.base, run.base_tree
        tree = TreeId(await overlay_tree(git, run.base_tree, changes))
        return CommitId(await commit_tree(git, tree, [run.base], "A dry run\n", self._context.commit_date)), tree

    async def _left(self, commit: CommitId, files: list[FileRecord]) -> Mapping[str, tuple[SitePlace, ...]]:
        """The sites that would remain in the files that were tried."""
        scope, paths = self._recipe.work_scope, {file.path for file in files}
        if not scope.site:
            return {}
        entries = [one for one in await list_tree(self._context.repository.git, commit) if one.path in paths]
        blobs = await read_blobs(self._context.repository.git, [one.oid for one in entries])
        contents = {one.path: blobs[one.oid] for one in entries}
        if not needs_workspace(scope):
            return (await find_sites(scope, contents)).places
        workspace = await self._context.hands.open_workspace(commit, "sites that would remain")
        try:
            return (await find_sites(scope, contents, workspace)).places
        finally:
            await workspace.close()


def count_failure_signatures(files: Iterable[FileRecord]) -> list[tuple[str, int]]:
    """Signatures of files that were put back, and how many have each, most first."""
    counts = Counter(file.signature for file in files if file.status == FileStatus.RESTORED and file.signature)
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))
