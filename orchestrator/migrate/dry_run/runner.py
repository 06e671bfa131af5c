"""A migration as far as its first queue, where nothing lands: what the steps that ask nobody make of the files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from orchestrator.domain.event.migration import WaveStarted
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard, SitePlace, Wave
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import open_stoppable_group, require_not_stopping
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.ladder.passes import Pass, find_final_status, is_changed, list_files_to_queue, list_passes
from orchestrator.migrate.ladder.run_outcome import group_by_signature
from orchestrator.migrate.run.pass_runner import PassRunner
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD
from orchestrator.migrate.sites.finder import find_sites, needs_workspace
from orchestrator.migrate.steps.step_io import StepTally
from orchestrator.ports.gate import GateResult
from orchestrator.report.migration import dry_run
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.git import Git
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


LineCounts = Mapping[str, tuple[int, int]]
"""Path → added and removed lines."""


async def build_dry_run_report(
    git: Git, state: RunState, tried: DryRunResult, *, wants_diff: bool
) -> dry_run.DryRunReport:
    """Return the report of a dry run.

    Args:
        git: of the repository that holds the union.
        state: of the run.
        tried: what became of the files.
        wants_diff: also give the unified diff of all changes that would go to the queue.

    Raises:
        GitError: the union cannot be read.
    """
    recipe, base = state.migration.require_recipe(), state.run.base
    changed = await diff_trees(git, base, tried.union)
    lines = {file.path: (file.added, file.removed) for file in changed.files}
    diff = None
    if wants_diff and changed.files:
        diff = await read_diff_text(git, base, tried.union)
    return _ReportBuilder(recipe, state, tried, lines).build_report(diff)


class _ReportBuilder:
    def __init__(self, recipe: Recipe, state: RunState, tried: DryRunResult, lines: LineCounts) -> None:
        self._recipe = recipe
        self._state = state
        self._tried = tried
        self._lines = lines
        self._paths = frozenset(tried.paths)
        self._shards = state.migration.map_files_to_shards()

    def build_report(self, diff: str | None) -> dry_run.DryRunReport:
        """Return the report with this diff."""
        state, files = self._state, tuple(self._state.migration.files.values())
        remaining = None
        if self._recipe.work_scope.site:
            remaining = sum(map(len, self._tried.remaining_sites.values()))
        added, removed = _sum_lines(self._lines.values())
        return dry_run.DryRunReport(
            migration=self._recipe.migration.id,
            title=self._recipe.title,
            revision=self._recipe.revision,
            base=state.run.base,
            exit=self._exit,
            unsafe=state.is_unsafe,
            found=dry_run.FileAndSiteCount(files=len(files), sites=sum(file.sites for file in files)),
            tried=dry_run.FileAndSiteCount(files=len(self._tried.paths), sites=self._count_sites(self._tried.paths)),
            changed=len(self._lines),
            added=added,
            removed=removed,
            remaining=remaining,
            outcome=self._forecast_outcome(),
            steps=tuple(map(self._build_step, range(len(self._recipe.step)))),
            shards=tuple(map(self._build_shard, state.migration.shards.values())),
            files=tuple(map(self._build_file, files)),
            alike=tuple(_iterate_signatures(files)),
            gate=_build_gate(self._tried.verdict),
            notices=tuple(notice.text for notice in state.notices),
            diff=diff,
        )

    def _forecast_outcome(self) -> dict[FileStatus, int]:
        """Return how many of the files that were tried would come to which end; others may have nothing to do."""
        counts: Counter[FileStatus] = Counter()
        takes_all = any(step.when == "always" for step in self._recipe.step)
        for path, file in self._state.migration.files.items():
            if path not in self._paths and not takes_all and find_final_status(file) == FileStatus.NOTHING_TO_DO:
                counts[FileStatus.NOTHING_TO_DO] += 1
        for path in self._tried.paths:
            file = self._state.migration.files[path]
            end = file.status
            if is_changed(file):
                end = FileStatus.MERGED
            elif file.rung >= 0:
                end = find_final_status(file) or end
            counts[end] += 1
        return {status: counts[status] for status in FileStatus if counts[status]}

    @property
    def _exit(self) -> int:
        """0 something would go to the queue, 3 it is red there, 4 nothing would."""
        verdict = self._tried.verdict
        if verdict is not None and not verdict.difference.is_green:
            return 3
        if self._lines:
            return 0
        return 4

    def _count_sites(self, paths: Iterable[str]) -> int:
        return sum(self._state.migration.files[path].sites for path in paths)

    def _build_step(self, rung: int) -> dry_run.DryRunStep:
        step, tally = self._recipe.step[rung], self._tried.steps.get(rung) or StepTally()
        return dry_run.DryRunStep(
            id=step.id, kind=step.kind, when=step.when, not_tried=self._explain_not_tried(rung), **vars(tally)
        )

    def _explain_not_tried(self, rung: int) -> str:
        """Return the reason why a step was not tried; empty if it was."""
        step = self._recipe.step[rung]
        if rung in self._tried.steps:
            return ""
        if step.kind == "llm":
            return "it asks a model"
        if step.kind == "human":
            return "it asks a person"
        if rung in list_passes(self._recipe)[0].rungs:
            return "it comes after a step that asks a model"
        return "it comes after the first queue"

    def _build_shard(self, shard: Shard) -> dry_run.DryRunShard:
        lines = [self._lines[path] for path in shard.files if path in self._lines]
        added, removed = _sum_lines(lines)
        return dry_run.DryRunShard(
            name=shard.name,
            owner=shard.owner,
            files=len(shard.files),
            sites=self._count_sites(shard.files),
            changed=len(lines),
            added=added,
            removed=removed,
        )

    def _build_file(self, file: FileRecord) -> dry_run.DryRunFile:
        added, removed = self._lines.get(file.path, (0, 0))
        status = self._get_status(file)
        step = reason = signature = ""
        if file.rung >= 0:
            step = self._recipe.step[file.rung].id
        if status in {"restored", "skipped"}:
            reason, signature = file.reason, file.signature
        return dry_run.DryRunFile(
            path=file.path,
            status=status,
            shard=self._shards.get(file.path, ""),
            owner=file.owner,
            step=step,
            sites=file.sites,
            left=self._tried.remaining_sites.get(file.path, ()),
            added=added,
            removed=removed,
            reason=reason,
            signature=signature,
        )

    def _get_status(self, file: FileRecord) -> dry_run.DryRunFileStatus:
        """Return what became of a file; `nothing-to-do` of one without a site."""
        if file.status == FileStatus.RESTORED:
            return "restored"
        if file.status == FileStatus.SKIPPED:
            return "skipped"
        if file.path not in self._paths:
            return "not-tried" if file.path in self._shards else "nothing-to-do"
        if file.rung < 0:
            return "not-tried"
        if is_changed(file):
            return "changed"
        return "unchanged"


def _sum_lines(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return all added and all removed lines."""
    added = removed = 0
    for more_added, more_removed in counts:
        added += more_added
        removed += more_removed
    return added, removed


def _iterate_signatures(files: Iterable[FileRecord]) -> Iterator[dry_run.DryRunSignature]:
    restored = (file for file in files if file.status == FileStatus.RESTORED and file.signature)
    for group in group_by_signature(restored):
        yield dry_run.DryRunSignature(signature=group.signature, files=len(group.paths))


def _build_gate(verdict: GateResult | None) -> dry_run.DryRunGate | None:
    if verdict is None:
        return None
    difference = verdict.difference
    return dry_run.DryRunGate(green=difference.is_green, **difference.model_dump(exclude={"flaky"}))
