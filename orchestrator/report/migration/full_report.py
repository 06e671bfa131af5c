"""The report of a migration: its burndown with every file, from which HTML, Markdown, CSV and JSON are made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.report.migration.burndown import FULL_BOUNDS, build_burndown
from orchestrator.report.migration.file_groups import list_step_names
from orchestrator.report.run.result import build_run_result

SCHEMA = "orchestrate.migration-report/1"
_FROM_RESULT = ("outcome", "reason", "base", "pr_branch", "head", "unsafe", "notices", "flaky", "gate")


def build_migration_report(state: RunState) -> dict[str, Any]:
    """The whole report as data: the burndown in full, what the run says of itself, invariants, and `files` by path.

    Files with nothing to do are left out.
    """
    result = build_run_result(state, Path()).as_object()
    return {
        **build_burndown(state, FULL_BOUNDS),
        "schema": SCHEMA,
        **{name: result[name] for name in _FROM_RESULT},
        "started_at": state.run.started_at.isoformat(),
        "invariants": [dict(invariant) for invariant in (state.recipe or {}).get("invariant", ())],
        "files": list(_files(state)),
    }


def _files(state: RunState) -> Iterator[dict[str, Any]]:
    steps = list_step_names(state.recipe)
    shards = {}
    for shard in state.shards.values():
        for path in shard.files:
            shards[path] = shard
    for file in sorted(state.files.values(), key=lambda file: file.path):
        if file.status != FileStatus.NOTHING_TO_DO:
            yield _file(file, shards.get(file.path), steps)


def _file(file: FileRecord, shard: Shard | None, steps: list[str]) -> dict[str, Any]:
    return {
        "path": file.path,
        "status": file.status.value,
        "owner": file.owner,
        "shard": shard.name if shard else "",
        "step": steps[file.rung] if 0 <= file.rung < len(steps) else "",
        "attempt": file.attempt,
        "sites": file.sites,
        "sites_left": file.remaining_sites,
        "reason": file.reason,
        "signature": file.signature,
        "flags": list(file.flags),
        "commit": (shard.commit or "") if shard and file.status == FileStatus.MERGED else "",
        "seconds": round(file.seconds, 3),
    }
