"""When a migration stops by itself: too much fails, or much fails alike. Pure rules over the state of a run."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.recipe import Sample, StopRules

_SHOWN = 5
_TRIED = frozenset({FileStatus.MERGED, FileStatus.REJECTED, FileStatus.NEEDS_HUMAN, FileStatus.UNCHANGED})


class FailureGroup(FrozenModel):
    """Files that failed alike."""

    signature: str
    paths: tuple[str, ...]
    reason: str

    @property
    def summary(self) -> str:
        """One line for a person."""
        if len(self.paths) > _SHOWN:
            more = f" and {len(self.paths) - _SHOWN} more"
        else:
            more = ""
        return f"{len(self.paths)} files: {self.signature} ({', '.join(self.paths[:_SHOWN])}{more})"


def group_failures(files: Iterable[FileRecord]) -> list[FailureGroup]:
    """The files whose ladder ended without landing, by the signature of their failure, most first."""
    found: defaultdict[str, list[FileRecord]] = defaultdict(list)
    for file in files:
        if file.status.is_left_over and file.signature:
            found[file.signature].append(file)
    made = []
    for sign, alike in found.items():
        made.append(
            FailureGroup(signature=sign, paths=tuple(sorted(file.path for file in alike)), reason=alike[0].reason)
        )
    return sorted(made, key=lambda one: (-len(one.paths), one.signature))


def find_repeated_failure(state: RunState, rules: StopRules) -> FailureGroup | None:
    """The largest group of files that failed alike and is large enough to look at the recipe."""
    first = next(iter(group_failures(state.files.values())), None)
    if first and rules.same_signature and len(first.paths) >= rules.same_signature:
        return first
    return None


def explain_failure_limit(state: RunState, rules: StopRules) -> str:
    """Why the run should not go on, in words; empty when it may."""
    done = []
    for shard in state.shards.values():
        if _is_over(state, shard.files):
            done.append(shard)
    tried = []
    for file in state.files.values():
        if file.status in _TRIED:
            tried.append(file)
    failed = sum(file.status != FileStatus.MERGED for file in tried)
    if len(done) < rules.after_shards or failed <= rules.max_failed_fraction * len(tried):
        return ""
    return (
        f"{failed} of {len(tried)} files have failed, more than max_failed_fraction = {rules.max_failed_fraction:g} "
        f"allows"
    )


def _is_over(state: RunState, paths: Sequence[str]) -> bool:
    return bool(paths) and all(state.files[path].status.is_terminal for path in paths)


def explain_sample_failure(files: Sequence[FileRecord], sample: Sample) -> str:
    """Why the rest should not begin after the sample, in words; empty when it may."""
    tried = [file for file in files if file.status in _TRIED]
    passed = sum(file.status == FileStatus.MERGED for file in tried)
    if not tried or passed >= sample.min_pass * len(tried):
        return ""
    return f"{passed} of {len(tried)} files of the sample landed, fewer than min_pass = {sample.min_pass:g} asks for"
