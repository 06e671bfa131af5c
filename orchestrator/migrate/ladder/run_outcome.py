"""The outcome of a migration, as a whole and for files that did not land; when it stops by itself. Pure rules."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.migration.file_counts import FileCounts
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.merge import StopRules
from orchestrator.domain.recipe.shard import Sample
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run_outcome import RunOutcome
from orchestrator.domain.text.listing import join_limited
from orchestrator.migrate.ladder.passes import NOTHING_CHANGED, find_final_status, is_changed

_HELD = {FileStatus.DISCOVERED, FileStatus.TRANSFORMED, FileStatus.EJECTED, FileStatus.RESTORED}
"""Where files can still stand at the end of a run: those of shards that are held."""


_SHOWN = 5
_TRIED = frozenset({FileStatus.MERGED, FileStatus.REJECTED, FileStatus.NEEDS_HUMAN, FileStatus.UNCHANGED})


def build_last_moves(files: Iterable[FileRecord]) -> Iterator[FileMoved]:
    """Yield the ends of files that still stand on a ladder which has ended."""
    for file in files:
        if (status := find_final_status(file)) is not None:
            yield _build_last_move(file, status)


def build_atomic_moves(files: Sequence[FileRecord]) -> Iterator[FileMoved]:
    """Yield the ends of files that land together or not at all, and did not."""
    failed = [file for file in files if file.status.is_failed]
    if not failed:
        yield from build_last_moves(files)
        return
    reason = f"all files land together or none does, and {failed[0].path} could not: {failed[0].reason}"
    yield from build_last_moves(file for file in files if not is_changed(file))
    for file in filter(is_changed, files):
        yield FileMoved(path=file.path, status=FileStatus.REJECTED, rung=file.rung, tried=file.blob, reason=reason)


def _build_last_move(file: FileRecord, end: FileStatus) -> FileMoved:
    reason = NOTHING_CHANGED if end == FileStatus.UNCHANGED and not file.reason else ""
    return FileMoved(path=file.path, status=end, rung=file.rung, blob=file.blob, reason=reason, signature=reason)


def summarize_outcome(files: Sequence[FileRecord]) -> tuple[RunOutcome, str]:
    """Return the run's outcome and the words for it."""
    counts = FileCounts.from_statuses(file.status for file in files)
    landed = counts.landed
    if landed and counts.is_complete:
        reason = f"all {landed} changed files landed"
        if skipped := counts.count_status(FileStatus.SKIPPED):
            reason += f", {skipped} skipped"
        return "done", reason
    rest = counts.describe_rest()
    if landed or any(map(counts.count_status, _HELD)):
        return "partial", f"{landed} files landed, {rest}"
    if counts.count_status(FileStatus.REJECTED) or counts.count_status(FileStatus.NEEDS_HUMAN):
        return "rejected", f"none of the changed files could land: {rest}"
    if counts.count_status(FileStatus.REVERTED):
        return "rejected", f"everything is taken back: {rest}"
    return "nothing-changed", f"no step changed any of the {len(files)} files in scope"


class FailureGroup(FrozenModel):
    """Files that failed alike."""

    signature: str
    paths: tuple[str, ...]
    reason: str

    @property
    def summary(self) -> str:
        """One line for a person."""
        return f"{len(self.paths)} files: {self.signature} ({join_limited(self.paths, _SHOWN)})"


def group_failures(files: Iterable[FileRecord]) -> list[FailureGroup]:
    """Return the files whose ladder ended without landing, by the signature of their failure, most first."""
    return group_by_signature(file for file in files if file.status.is_left_over and file.signature)


def group_by_signature(files: Iterable[FileRecord]) -> list[FailureGroup]:
    """Return failed files by the signature of their failure, most first; the reason is that of the first one."""
    found: defaultdict[str, list[FileRecord]] = defaultdict(list)
    for file in files:
        found[file.signature].append(file)
    groups = []
    for signature, alike in found.items():
        paths = tuple(sorted(file.path for file in alike))
        groups.append(FailureGroup(signature=signature, paths=paths, reason=alike[0].reason))
    return sorted(groups, key=lambda group: (-len(group.paths), group.signature))


def explain_failure_limit(state: RunState, rules: StopRules) -> str:
    """Return why the run should not go on, in words; empty when it may."""
    done = 0
    for shard in state.migration.shards.values():
        done += bool(shard.files) and all(file.status.is_terminal for file in state.migration.list_files([shard]))
    tried, landed = _count_tried(state.migration.files.values())
    failed = tried - landed
    if done < rules.after_shards or failed <= rules.max_failed_fraction * tried:
        return ""
    return (
        f"{failed} of {tried} files have failed, more than max_failed_fraction = {rules.max_failed_fraction:g} allows"
    )


def _count_tried(files: Iterable[FileRecord]) -> tuple[int, int]:
    """Return how many of the files were tried to the end, and how many of these landed."""
    counts = Counter(file.status for file in files if file.status in _TRIED)
    return counts.total(), counts[FileStatus.MERGED]


def explain_sample_failure(files: Sequence[FileRecord], sample: Sample) -> str:
    """Return why the rest should not begin after the sample, in words; empty when it may."""
    tried, landed = _count_tried(files)
    if not tried or landed >= sample.min_pass * tried:
        return ""
    return f"{landed} of {tried} files of the sample landed, fewer than min_pass = {sample.min_pass:g} asks for"
