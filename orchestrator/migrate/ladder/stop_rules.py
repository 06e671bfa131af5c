"""Rules by which a migration stops by itself: too much fails, or much fails alike. Pure, over the state of a run."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.merge import StopRules
from orchestrator.domain.recipe.shard import Sample
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import join_limited

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
        return f"{len(self.paths)} files: {self.signature} ({join_limited(self.paths, _SHOWN)})"


def group_failures(files: Iterable[FileRecord]) -> list[FailureGroup]:
    """Return the files whose ladder ended without landing, by the signature of their failure, most first."""
    found: defaultdict[str, list[FileRecord]] = defaultdict(list)
    for file in files:
        if file.status.is_left_over and file.signature:
            found[file.signature].append(file)
    groups = []
    for signature, alike in found.items():
        paths = tuple(sorted(file.path for file in alike))
        groups.append(FailureGroup(signature=signature, paths=paths, reason=alike[0].reason))
    return sorted(groups, key=lambda group: (-len(group.paths), group.signature))


def explain_failure_limit(state: RunState, rules: StopRules) -> str:
    """Return why the run should not go on, in words; empty when it may."""
    done = sum(_is_over(state, shard.files) for shard in state.migration.shards.values())
    tried, landed = _count_tried(state.migration.files.values())
    failed = tried - landed
    if done < rules.after_shards or failed <= rules.max_failed_fraction * tried:
        return ""
    return (
        f"{failed} of {tried} files have failed, more than max_failed_fraction = {rules.max_failed_fraction:g} allows"
    )


def _is_over(state: RunState, paths: Sequence[str]) -> bool:
    return bool(paths) and all(state.migration.files[path].status.is_terminal for path in paths)


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
