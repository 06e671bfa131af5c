"""Build the report of a dry run: `orchestrate.dry-run/1`."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.dry_run.runner import DryRunResult
from orchestrator.migrate.ladder.passes import is_changed, list_passes
from orchestrator.migrate.ladder.run_outcome import group_by_signature
from orchestrator.migrate.steps.step_io import StepTally
from orchestrator.ports.gate import GateResult
from orchestrator.report.migration import dry_run
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.git import Git

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
            steps=tuple(map(self._build_step, range(len(self._recipe.step)))),
            shards=tuple(map(self._build_shard, state.migration.shards.values())),
            files=tuple(map(self._build_file, files)),
            alike=tuple(_iterate_signatures(files)),
            gate=_build_gate(self._tried.verdict),
            notices=tuple(notice.text for notice in state.notices),
            diff=diff,
        )

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
