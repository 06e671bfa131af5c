"""Files of a migration as rows: those of a group, of a shard, or those that failed alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.domain.burndown import counts_sites, remaining
from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.domain.plain import one_line
from orchestrator.domain.state import RunState
from orchestrator.domain.usage import Usage
from orchestrator.report.filtering import Value
from orchestrator.report.glyphs import Doing
from orchestrator.report.groups import By, failure, has_failed, namer, step_names
from orchestrator.report.prices import price

FILE_KEYS = ("path", "state", "status", "owner", "step", "sites", "attempts", "cost", "reason", "signature", "flags")
"""What files can be filtered by."""
DOING: Mapping[FileStatus, Doing] = {
    FileStatus.DISCOVERED: Doing.QUEUE,
    FileStatus.TRANSFORMED: Doing.MERGE,
    FileStatus.RESTORED: Doing.RETRY,
    FileStatus.EJECTED: Doing.RETRY,
    FileStatus.MERGED: Doing.DONE,
    FileStatus.NOTHING_TO_DO: Doing.DONE,
    FileStatus.REJECTED: Doing.FAIL,
    FileStatus.UNCHANGED: Doing.FAIL,
    FileStatus.NEEDS_HUMAN: Doing.FAIL,
    FileStatus.SKIPPED: Doing.STOP,
    FileStatus.REVERTED: Doing.STOP,
}
"""Where a file stands, in the words of all things of a run."""
_CHARS = 300
_NOTHING = Usage()
_ORDER = [Doing.FAIL, Doing.RETRY, Doing.MERGE, Doing.QUEUE, Doing.STOP, Doing.DONE]


@dataclass(frozen=True)
class FileRow:
    """A file: `left` are its weighted sites that remain, `step` is the last step that was tried on it."""

    path: str
    doing: Doing
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
        """What model calls for it cost; empty if there were none."""
        return price(self.spent) if self.spent.calls else ""

    def fields(self) -> Mapping[str, Value]:
        """What it can be filtered by."""
        return {
            "path": self.path,
            "state": self.doing.value,
            "status": self.status.value,
            "owner": self.owner,
            "step": self.step,
            "sites": self.left,
            "attempts": float(self.attempt),
            "cost": None if self.spent.unpriced_calls else float(self.spent.cost_usd),
            "reason": self.reason,
            "signature": self.signature,
            "flags": " ".join(self.flags),
        }


def file_rows(state: RunState, files: Iterable[FileRecord]) -> list[FileRow]:
    """What failed first, then what is on its way, then the rest; by path."""
    steps, has_sites = step_names(state.recipe), counts_sites(state.recipe)
    rows = [_row(state, file, steps, has_sites) for file in files]
    return sorted(rows, key=lambda row: (_ORDER.index(row.doing), row.path))


def _row(state: RunState, file: FileRecord, steps: list[str], has_sites: bool) -> FileRow:
    return FileRow(
        path=file.path,
        doing=DOING[file.status],
        status=file.status,
        owner=file.owner,
        step=steps[file.rung] if 0 <= file.rung < len(steps) else "",
        attempt=file.attempt,
        left=remaining(file, has_sites),
        seconds=file.seconds,
        spent=state.spent_by_task.get(TaskId(file.path), _NOTHING),
        reason=one_line(file.reason, _CHARS),
        signature=one_line(file.signature, _CHARS),
        flags=file.flags,
    )


def files_of_group(state: RunState, by: By, name: str) -> list[FileRecord]:
    """The files of one of `report.groups.groups`."""
    name_of = namer(state, by)
    return [file for file in state.files.values() if file.status != FileStatus.NOTHING_TO_DO and name_of(file) == name]


def files_alike(state: RunState, signature: str) -> list[FileRecord]:
    """The files that failed of one thing, see `report.burndown.signatures`."""
    return [file for file in state.files.values() if has_failed(file) and failure(file) == signature]
