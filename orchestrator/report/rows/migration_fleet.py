"""Build the rows of a migration: running steps, shards under way, failed files, and counts of the others."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.domain.event.migration import StepStarted
from orchestrator.domain.migration.files import FileRecord, FileStatus, ShardStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count
from orchestrator.report.migration.file_groups import get_step_name, list_step_names
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.file_rows import ACTIVITY_BY_STATUS
from orchestrator.report.run.summary import format_reason

_SHARDS = {ShardStatus.RUNNING: Activity.MERGE, ShardStatus.HELD: Activity.PAUSE}


def build_migration_rows(state: RunState, is_at_work: bool, is_whole: bool) -> Iterator[AgentRow]:
    """Yield the rows of a migration, none for a goal.

    With `is_whole` each file has a row; else each failed file has one, and the others have one for each status.
    """
    if state.run.mode != "migration":
        return
    steps = list_step_names(state)
    yield from _build_step_rows(state, is_at_work)
    yield from _build_shard_rows(state)
    counted: Counter[FileStatus] = Counter()
    for file in state.migration.files.values():
        if is_whole or file.status.is_failed or ACTIVITY_BY_STATUS[file.status] is Activity.FAIL:
            yield _build_file_row(file, steps, bool(state.ended))
        else:
            counted[file.status] += 1
    for status, count in counted.items():
        title = format_count(count, "file")
        doing = _get_activity(status, is_over=bool(state.ended))
        yield AgentRow("count", status.value, "-", doing, "file", title=title, last=status.word, count=count)


def find_migration_file_row(state: RunState, path: str) -> AgentRow | None:
    """Return the row of one file of a migration; None if it has no such file."""
    file = state.migration.files.get(path)
    if file is None:
        return None
    return _build_file_row(file, list_step_names(state), bool(state.ended))


def _build_step_rows(state: RunState, is_at_work: bool) -> Iterator[AgentRow]:
    for intent in state.open_intents.values():
        if isinstance(intent, StepStarted):
            done = f"{state.migration.rung_files[intent.rung]} of {intent.files} files"
            if is_at_work and not state.paused and not state.ended:
                doing = Activity.RUN
            else:
                doing = Activity.PAUSE
            yield AgentRow("step", intent.step, "-", doing, "step", intent.step, last=done)


def _build_shard_rows(state: RunState) -> Iterator[AgentRow]:
    for shard in state.migration.shards.values():
        if shard.commit is not None:
            continue
        status = state.migration.get_shard_status(shard)
        if status in _SHARDS:
            last = shard.held or "its files are on their way"
            title = format_count(len(shard.files), "file")
            if state.ended and not shard.held:
                doing = Activity.STOP
            else:
                doing = _SHARDS[status]
            yield AgentRow("shard", shard.name, "-", doing, "shard", shard.name, title, last=format_reason(last))


def _get_activity(status: FileStatus, is_over: bool) -> Activity:
    """Return the activity of a file; one that is not at rest when the run ends has stopped."""
    doing = ACTIVITY_BY_STATUS[status]
    if is_over and not status.is_terminal:
        return Activity.STOP
    return doing


def _build_file_row(file: FileRecord, steps: list[str], is_over: bool) -> AgentRow:
    last = file.status.word
    if file.reason and file.status != FileStatus.MERGED:
        last += f": {format_reason(file.reason)}"
    return AgentRow(
        kind="file",
        id=file.path,
        name="-",
        activity=_get_activity(file.status, is_over),
        role="file",
        task=file.path,
        title=format_count(file.sites, "site") if file.sites else "",
        branch=get_step_name(steps, file.rung) or "",
        last=last,
    )
