"""How a migration went, as a whole and for the files that did not land."""

from collections.abc import Sequence

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import RunOutcome
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.migrate.ladder.passes import NOTHING_CHANGED, find_final_status, is_changed

_LEFT = {
    FileStatus.REJECTED: "rejected",
    FileStatus.UNCHANGED: "could not be changed",
    FileStatus.NEEDS_HUMAN: "left to a person",
    FileStatus.REVERTED: "rolled back",
    FileStatus.DISCOVERED: "not begun",
    FileStatus.SKIPPED: "skipped",
    FileStatus.TRANSFORMED: "changed and held back",
    FileStatus.EJECTED: "sent back and held back",
    FileStatus.RESTORED: "restored and held back",
}
_HELD = {FileStatus.DISCOVERED, FileStatus.TRANSFORMED, FileStatus.EJECTED, FileStatus.RESTORED}
"""How files can still stand at the end of a run: those of shards that are held."""


def build_last_moves(files: Sequence[FileRecord]) -> list[FileMoved]:
    """The ends of files that still stand on a ladder which has ended."""
    ends = [(file, end) for file in files if (end := find_final_status(file)) is not None]
    return [_last_move(file, end) for file, end in ends]


def build_atomic_moves(files: Sequence[FileRecord]) -> list[FileMoved]:
    """The ends of files that land together or not at all, and did not."""
    failed = [file for file in files if file.status.is_failed]
    if not failed:
        return build_last_moves(files)
    why = f"all files land together or none does, and {failed[0].path} could not: {failed[0].reason}"
    held = [file for file in files if is_changed(file)]
    return [
        *build_last_moves([file for file in files if not is_changed(file)]),
        *(
            FileMoved(path=file.path, status=FileStatus.REJECTED, rung=file.rung, tried=file.blob, reason=why)
            for file in held
        ),
    ]


def _last_move(file: FileRecord, end: FileStatus) -> FileMoved:
    if file.reason or end != FileStatus.UNCHANGED:
        reason = ""
    else:
        reason = NOTHING_CHANGED
    return FileMoved(path=file.path, status=end, rung=file.rung, blob=file.blob, reason=reason, signature=reason)


def summarize_outcome(files: Sequence[FileRecord]) -> tuple[RunOutcome, str]:
    """The run's outcome and the words for it."""
    counts = {}
    for status in FileStatus:
        counts[status] = sum(file.status == status for file in files)
    landed, left = counts[FileStatus.MERGED], [f"{counts[one]} {word}" for one, word in _LEFT.items() if counts[one]]
    failed = sum(counts[one] for one in _LEFT if one != FileStatus.SKIPPED)
    if landed and not failed:
        if counts[FileStatus.SKIPPED]:
            skipped = f", {counts[FileStatus.SKIPPED]} skipped"
        else:
            skipped = ""
        return "done", f"all {landed} changed files landed{skipped}"
    if landed or any(counts[one] for one in _HELD):
        return "partial", ", ".join([f"{landed} files landed", *_told(left, counts)])
    if counts[FileStatus.REJECTED] or counts[FileStatus.NEEDS_HUMAN]:
        return "rejected", f"none of the changed files could land: {', '.join(left)}"
    if counts[FileStatus.REVERTED]:
        return "rejected", f"everything is taken back: {', '.join(left)}"
    return "nothing-changed", f"no step changed any of the {len(files)} files in scope"


def _told(left: Sequence[str], counts: dict[FileStatus, int]) -> Sequence[str]:
    """What is left, with the rejected ones named even if there are none."""
    if counts[FileStatus.REJECTED]:
        return left
    return ["0 rejected", *left]
