"""The report of a dry run as data: `orchestrate.dry-run/1`."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard, SitePlace
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.dry_run.runner import DryRunResult, count_failure_signatures
from orchestrator.migrate.ladder.passes import is_changed, list_passes
from orchestrator.migrate.steps.step_io import StepTally
from worktrees.diffs.file_diffs import diff_trees, read_diff_text
from worktrees.git import Git

SCHEMA = "orchestrate.dry-run/1"
LineCounts = Mapping[str, tuple[int, int]]
"""Path → added and removed lines."""


async def build_dry_run_report(git: Git, state: RunState, tried: DryRunResult, *, wants_diff: bool) -> dict[str, Any]:
    """What a dry run came to.

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
    lines = {}
    for file in changed.files:
        lines[file.path] = (file.added, file.removed)
    return _Report(recipe, state, tried, lines).as_object() | {
        "diff": await read_diff_text(git, base, tried.union) if wants_diff and changed.files else None
    }


class _Report:
    def __init__(self, recipe: Recipe, state: RunState, tried: DryRunResult, lines: LineCounts) -> None:
        self._recipe = recipe
        self._state = state
        self._tried = tried
        self._lines = lines
        self._paths = frozenset(tried.paths)
        self._shards = {path: shard.name for shard in state.shards.values() for path in shard.files}

    def as_object(self) -> dict[str, Any]:
        """All of it but the diff."""
        state, files = self._state, list(self._state.files.values())
        verdict = self._tried.verdict
        return {
            "schema": SCHEMA,
            "migration": self._recipe.migration.id,
            "title": self._recipe.title,
            "revision": self._recipe.revision,
            "base": state.run.base,
            "exit": self._exit,
            "unsafe": state.is_unsafe,
            "found": {"files": len(files), "sites": sum(file.sites for file in files)},
            "tried": {"files": len(self._tried.paths), "sites": self._sites},
            "changed": len(self._lines),
            "added": sum(added for added, _ in self._lines.values()),
            "removed": sum(removed for _, removed in self._lines.values()),
            "remaining": sum(map(len, self._tried.remaining_sites.values())) if self._recipe.work_scope.site else None,
            "steps": [self._step(rung) for rung in range(len(self._recipe.step))],
            "shards": [self._shard(shard) for shard in state.shards.values()],
            "files": [self._file(file) for file in files],
            "alike": [{"signature": name, "files": count} for name, count in count_failure_signatures(files)],
            "gate": None if verdict is None else {"green": verdict.difference.is_green, **_lost(verdict.difference)},
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

    @property
    def _sites(self) -> int:
        return sum(self._state.files[path].sites for path in self._paths)

    def _step(self, rung: int) -> dict[str, Any]:
        step, tally = self._recipe.step[rung], self._tried.steps.get(rung)
        told = vars(tally or StepTally())
        return {"id": step.id, "kind": step.kind, "when": step.when, "not_tried": self._why_not(rung), **told}

    def _why_not(self, rung: int) -> str:
        """Why a step was not tried, in words; empty if it was."""
        step = self._recipe.step[rung]
        if rung in self._tried.steps:
            return ""
        if step.kind in {"llm", "human"}:
            if step.kind == "llm":
                return "it asks a model"
            return "it asks a person"
        if rung in list_passes(self._recipe)[0].rungs:
            return "it comes after a step that asks a model"
        return "it comes after the first queue"

    def _shard(self, shard: Shard) -> dict[str, Any]:
        lines = []
        for path in shard.files:
            if path in self._lines:
                lines.append(self._lines[path])
        return {
            "name": shard.name,
            "owner": shard.owner,
            "files": len(shard.files),
            "sites": sum(self._state.files[path].sites for path in shard.files),
            "changed": len(lines),
            "added": sum(added for added, _ in lines),
            "removed": sum(removed for _, removed in lines),
        }

    def _file(self, file: FileRecord) -> dict[str, Any]:
        added, removed = self._lines.get(file.path, (0, 0))
        status = self._status(file)
        is_told = status in {"restored", "skipped"}
        return {
            "path": file.path,
            "status": status,
            "shard": self._shards.get(file.path, ""),
            "owner": file.owner,
            "step": self._recipe.step[file.rung].id if file.rung >= 0 else "",
            "sites": file.sites,
            "left": list(self._left(file)),
            "added": added,
            "removed": removed,
            "reason": file.reason if is_told else "",
            "signature": file.signature if is_told else "",
        }

    def _left(self, file: FileRecord) -> Iterator[dict[str, Any]]:
        places: tuple[SitePlace, ...] = self._tried.remaining_sites.get(file.path, ())
        return (place.model_dump() for place in places)

    def _status(self, file: FileRecord) -> str:
        """`changed`, `unchanged`, `restored`, `skipped`, `not-tried`, or `nothing-to-do`, of files without a site."""
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


def _lost(difference: Difference) -> dict[str, Any]:
    wanted = {"new_failures", "missing_tests", "newly_skipped", "fixed", "unsettled", "problems"}
    return difference.model_dump(mode="json", include=wanted)
