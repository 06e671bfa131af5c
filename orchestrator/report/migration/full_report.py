"""Build the report of a migration: its burndown with every file, from which HTML, Markdown, CSV and JSON are made."""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.report.migration.burndown import FULL_BOUNDS, build_burndown
from orchestrator.report.migration.file_groups import get_step_name, list_step_names
from orchestrator.report.migration.full_report_model import MigrationReport, ReportedFile
from orchestrator.report.run.result import build_run_result

_FROM_RESULT = ("outcome", "reason", "base", "pr_branch", "head", "unsafe", "notices", "flaky", "gate")


def build_migration_report(state: RunState) -> MigrationReport:
    """Return the whole report, with files sorted by path. Files with nothing to do are left out."""
    result, recipe = build_run_result(state, Path()), state.migration.recipe
    fields = build_burndown(state, FULL_BOUNDS).copy_fields()
    for name in _FROM_RESULT:
        fields[name] = getattr(result, name)
    return MigrationReport(
        **fields,
        started_at=state.run.started_at.isoformat(),
        invariants=tuple(recipe.dump_values().get("invariant", ())) if recipe else (),
        files=tuple(_iterate_files(state)),
    )


def _iterate_files(state: RunState) -> Iterator[ReportedFile]:
    steps = list_step_names(state)
    shards: dict[str, Shard] = {}
    for shard in state.migration.shards.values():
        shards.update(dict.fromkeys(shard.files, shard))
    for path in sorted(state.migration.files):
        file = state.migration.files[path]
        if file.status != FileStatus.NOTHING_TO_DO:
            yield _build_file(file, shards.get(path), steps)


def _build_file(file: FileRecord, shard: Shard | None, steps: list[str]) -> ReportedFile:
    shard_name = commit = ""
    if shard is not None:
        shard_name = shard.name
        if file.status == FileStatus.MERGED:
            commit = shard.commit or ""
    return ReportedFile(
        **{**dict(file), "seconds": round(file.seconds, 3)},
        shard=shard_name,
        step=get_step_name(steps, file.rung) or "",
        sites_left=file.remaining_sites,
        commit=commit,
    )
