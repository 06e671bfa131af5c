"""Rows for files of a migration: of a group, of a shard, or with the same failure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration.burndown import counts_sites, get_remaining_weight
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.burndown_model import GroupKind
from orchestrator.report.migration.file_groups import build_group_namer, get_failure_key, get_step_name, list_step_names
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import FilteredByAttributes

ACTIVITY_BY_STATUS: Mapping[FileStatus, Activity] = {
    FileStatus.DISCOVERED: Activity.QUEUE,
    FileStatus.TRANSFORMED: Activity.MERGE,
    FileStatus.RESTORED: Activity.RETRY,
    FileStatus.EJECTED: Activity.RETRY,
    FileStatus.MERGED: Activity.DONE,
    FileStatus.NOTHING_TO_DO: Activity.DONE,
    FileStatus.REJECTED: Activity.FAIL,
    FileStatus.UNCHANGED: Activity.FAIL,
    FileStatus.NEEDS_HUMAN: Activity.FAIL,
    FileStatus.SKIPPED: Activity.STOP,
    FileStatus.REVERTED: Activity.STOP,
}
"""Where a file stands, in the words of all things of a run."""
_CHARS = 300
_NOTHING = Usage()
_ORDER = [Activity.FAIL, Activity.RETRY, Activity.MERGE, Activity.QUEUE, Activity.STOP, Activity.DONE]


@dataclass(frozen=True)
class FileRow(FilteredByAttributes):
    """A file: `left` are its weighted sites that remain, `step` is the last step that was tried on it."""

    FILTER_FIELDS: ClassVar = {
        "path": "path", "state": "activity.filter_values", "status": "status.value", "owner": "owner", "step": "step",
        "sites": "left", "attempts": "attempt", "cost": "spent.usd", "reason": "reason", "signature": "signature",
        "flags": "flags",
    }  # fmt: skip

    path: str
    activity: Activity
    status: FileStatus
    owner: str
    step: str
    attempt: int
    left: float
    seconds: float
    spent: Usage
    reason: str
    signature: str
    flags: tuple[str, ...]

    @property
    def price(self) -> str:
        """The price of its model calls; empty if there were none."""
        return self.spent.cost_text * bool(self.spent.calls)


FILE_KEYS = tuple(FileRow.FILTER_FIELDS)
"""What files can be filtered by."""


def build_file_rows(state: RunState, files: Iterable[FileRecord]) -> list[FileRow]:
    """Return the rows by path: failed files first, then files under way, then the rest."""
    steps, has_sites = list_step_names(state), counts_sites(state.migration.recipe)
    rows = [_row(state, file, steps, has_sites) for file in files]
    return sorted(rows, key=lambda row: (_ORDER.index(row.activity), row.path))


def _row(state: RunState, file: FileRecord, steps: list[str], has_sites: bool) -> FileRow:
    return FileRow(
        path=file.path,
        activity=ACTIVITY_BY_STATUS[file.status],
        status=file.status,
        owner=file.owner,
        step=get_step_name(steps, file.rung) or "",
        attempt=file.attempt,
        left=get_remaining_weight(file, has_sites),
        seconds=file.seconds,
        spent=state.spend.by_task.get(TaskId(file.path), _NOTHING),
        reason=to_one_line(file.reason, _CHARS),
        signature=to_one_line(file.signature, _CHARS),
        flags=file.flags,
    )


def list_group_files(state: RunState, by: GroupKind, name: str) -> list[FileRecord]:
    """Return the files of the group `name`, without files that have nothing to do."""
    name_of = build_group_namer(state, by)
    return [
        file
        for file in state.migration.files.values()
        if file.status != FileStatus.NOTHING_TO_DO and name_of(file) == name
    ]


def list_files_by_signature(state: RunState, signature: str) -> list[FileRecord]:
    """Return the files that failed with one signature."""
    return [file for file in state.migration.files.values() if file.has_failed and get_failure_key(file) == signature]
