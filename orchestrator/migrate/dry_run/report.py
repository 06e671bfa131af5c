"""The report of a dry run as data: `orchestrate.dry-run/1`."""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.dry_run.runner import DryRunResult, count_failure_signatures
from orchestrator.migrate.ladder.passes import is_changed, list_passes
from orchestrator.migrate.steps.step_io import StepTally
from orchestrator.ports.gate import GateResult
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.git import Git

SCHEMA = "orchestrate.dry-run/1"
LineCounts = Mapping[str, tuple[int, int]]
"""Path → added and removed lines."""


async def build_dry_run_report(git: Git, state: RunState, tried: DryRunResult, *, wants_diff: bool) -> dict[str, Any]:
    """Return the report of a dry run.

    Args:
        git: of the repository that holds the union.
        state: of the run.
        tried: what became of the files.
        wants_diff: also give the unified diff of all changes that would go to the queue.

    Raises:
        GitError: the union cannot be read.
    """
    recipe, base = Recipe.model_validate(state.recipe), state.run.base
    changed = await diff_trees(git, base, tried.union)
    lines = {file.path: (file.added, file.removed) for file in changed.files}
    report = _Report(recipe, state, tried, lines).as_object()
    report["diff"] = None
    if wants_diff and changed.files:
        report["diff"] = await read_diff_text(git, base, tried.union)
    return report


class _Report:
    def __init__(self, recipe: Recipe, state: RunState, tried: DryRunResult, lines: LineCounts) -> None:
        self._recipe = recipe
        self._state = state
        self._tried = tried
        self._lines = lines
        self._paths = frozenset(tried.paths)
        self._shards: dict[str, str] = {}
        for shard in state.shards.values():
            self._shards |= dict.fromkeys(shard.files, shard.name)

    def as_object(self) -> dict[str, Any]:
        """Return all of it but the diff."""
        state, files = self._state, list(self._state.files.values())
        added, removed = _sum_lines(self._lines.values())
        return {
            "schema": SCHEMA,
            "migration": self._recipe.migration.id,
            "title": self._recipe.title,
            "revision": self._recipe.revision,
            "base": state.run.base,
            "exit": self._exit,
            "unsafe": state.is_unsafe,
            "found": {"files": len(files), "sites": sum(file.sites for file in files)},
            "tried": {"files": len(self._tried.paths), "sites": self._count_sites(self._tried.paths)},
            "changed": len(self._lines),
            "added": added,
            "removed": removed,
            "remaining": sum(map(len, self._tried.remaining_sites.values())) if self._recipe.work_scope.site else None,
            "steps": list(map(self._build_step, range(len(self._recipe.step)))),
            "shards": list(map(self._build_shard, state.shards.values())),
            "files": list(map(self._build_file, files)),
            "alike": [{"signature": name, "files": count} for name, count in count_failure_signatures(files)],
            "gate": _build_gate(self._tried.verdict),
            "notices": [notice.text for notice in state.notices],
        }

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
        return sum(self._state.files[path].sites for path in paths)

    def _build_step(self, rung: int) -> dict[str, Any]:
        step, tally = self._recipe.step[rung], self._tried.steps.get(rung)
        keys = {"id": step.id, "kind": step.kind, "when": step.when, "not_tried": self._explain_skipped_step(rung)}
        return keys | vars(tally or StepTally())

    def _explain_skipped_step(self, rung: int) -> str:
        """Return why a step was not tried, in words; empty if it was."""
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

    def _build_shard(self, shard: Shard) -> dict[str, Any]:
        lines = [self._lines[path] for path in shard.files if path in self._lines]
        added, removed = _sum_lines(lines)
        return {
            "name": shard.name,
            "owner": shard.owner,
            "files": len(shard.files),
            "sites": self._count_sites(shard.files),
            "changed": len(lines),
            "added": added,
            "removed": removed,
        }

    def _build_file(self, file: FileRecord) -> dict[str, Any]:
        added, removed = self._lines.get(file.path, (0, 0))
        status, left = self._describe_status(file), self._tried.remaining_sites.get(file.path, ())
        is_told = status in {"restored", "skipped"}
        return {
            "path": file.path,
            "status": status,
            "shard": self._shards.get(file.path, ""),
            "owner": file.owner,
            "step": self._recipe.step[file.rung].id if file.rung >= 0 else "",
            "sites": file.sites,
            "left": [place.model_dump() for place in left],
            "added": added,
            "removed": removed,
            "reason": file.reason if is_told else "",
            "signature": file.signature if is_told else "",
        }

    def _describe_status(self, file: FileRecord) -> str:
        """Return `changed`, `unchanged`, `restored`, `skipped`, `not-tried`, or `nothing-to-do` (it has no site)."""
        if file.status in {FileStatus.RESTORED, FileStatus.SKIPPED}:
            return file.status.value
        if file.path not in self._paths:
            if file.path in self._shards:
                return "not-tried"
            return "nothing-to-do"
        if file.rung < 0:
            return "not-tried"
        if is_changed(file):
            return "changed"
        return "unchanged"


def _sum_lines(lines: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the added and the removed lines of several files."""
    added, removed = 0, 0
    for more, less in lines:
        added, removed = added + more, removed + less
    return added, removed


def _build_gate(verdict: GateResult | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    keys = {"new_failures", "missing_tests", "newly_skipped", "fixed", "unsettled", "problems"}
    difference = verdict.difference
    return {"green": difference.is_green, **difference.model_dump(mode="json", include=keys)}
