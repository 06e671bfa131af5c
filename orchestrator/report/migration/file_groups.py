"""Count the files of a migration in groups: by owner, directory, shard, step or reason."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration.burndown import counts_sites, get_found_weight, get_remaining_weight
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.money import format_cost
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.burndown_model import NO_GROUP, GroupKind, GroupSummary
from orchestrator.report.rows.row_filter import FilteredByAttributes

_DEPTH = 2
_REASON_CHARS = 300


@dataclass
class FileGroup(FilteredByAttributes):
    """Files of a migration that are counted together; `sites` and `left` are weighted.

    `files` has those that have something to do, `done` the landed ones of them, `rejected` those that failed: for
    good, or until the next step takes them. `seconds` are those of each file that took any. `usd` is what model calls
    for them cost, as far as that is known; `unpriced` counts those of which it is not.
    """

    FILTER_FIELDS: ClassVar = {
        "name": "name", "files": "files", "done": "done", "left": "left", "failed": "rejected", "cost": "known_usd",
        "reason": "reason_line",
    }  # fmt: skip

    name: str
    files: int = 0
    done: int = 0
    rejected: int = 0
    skipped: int = 0
    sites: float = 0.0
    left: float = 0.0
    usd: float = 0.0
    unpriced: int = 0
    prs: int = 0
    seconds: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def top_reason(self) -> str:
        """The reason that most of its files failed for; empty if none failed."""
        for reason, _ in self.reasons.most_common(1):
            return reason
        return ""

    @property
    def median_seconds(self) -> float | None:
        """The median of seconds a file took, None if none took any."""
        if self.seconds:
            return median(self.seconds)
        return None

    @property
    def price(self) -> str:
        """The price of model calls for its files; empty where no model was called, as far as is known."""
        if not self.usd and not self.unpriced:
            return ""
        return format_cost(self.usd, is_whole=not self.unpriced)

    @property
    def known_usd(self) -> float | None:
        """The dollars that are known; None if there are none."""
        return self.usd or None

    @property
    def reason_line(self) -> str:
        """The top reason in one bounded line."""
        return to_one_line(self.top_reason, _REASON_CHARS)

    def build_summary(self) -> GroupSummary:
        """Return the group with rounded numbers."""
        seconds = self.median_seconds
        if seconds is not None:
            seconds = round(seconds, 3)
        return GroupSummary(
            **{**vars(self), "sites": round(self.sites, 3), "usd": round(self.usd, 6)},
            share=round(self.done / max(self.files, 1), 4),
            sites_left=round(self.left, 3),
            p50_s=seconds,
            top_reason=self.top_reason,
        )


GROUP_KEYS = tuple(FileGroup.FILTER_FIELDS)
"""The fields that filters of groups can name."""


def build_file_groups(state: RunState, by: GroupKind) -> list[FileGroup]:
    """Return all groups, those with most left first."""
    get_group_name, has_sites = build_group_namer(state, by), counts_sites(state.migration.recipe)
    groups: dict[str, FileGroup] = {}
    for file in state.migration.files.values():
        if file.status != FileStatus.NOTHING_TO_DO:
            name = get_group_name(file)
            group = groups.get(name) or groups.setdefault(name, FileGroup(name))
            _add_file(state, group, file, has_sites)
    if state.migration.prs:
        for group in groups.values():
            group.prs = _count_pull_requests(state, group.name)
    return sorted(groups.values(), key=_rank_group)


def _rank_group(group: FileGroup) -> tuple[float, int, str]:
    return -group.left, -group.rejected, group.name


def _add_file(state: RunState, group: FileGroup, file: FileRecord, has_sites: bool) -> None:
    group.files += 1
    group.done += file.status == FileStatus.MERGED
    group.skipped += file.status == FileStatus.SKIPPED
    group.sites += get_found_weight(file, has_sites)
    group.left += get_remaining_weight(file, has_sites)
    if file.seconds:
        group.seconds.append(file.seconds)
    spent = state.spend.by_task.get(TaskId(file.path))
    if spent is not None:
        group.usd += float(spent.cost_usd)
        group.unpriced += spent.unpriced_calls
    if file.has_failed:
        group.rejected += 1
        group.reasons[get_failure_key(file)] += 1


def get_failure_key(file: FileRecord) -> str:
    """Return the words by which files that failed alike are counted together."""
    return file.signature or file.reason or file.status.value


def build_group_namer(state: RunState, by: GroupKind) -> Callable[[FileRecord], str]:
    """Return a function that tells the name of the group that a file is in."""
    if by == "owner":
        return lambda file: file.owner or NO_GROUP
    if by == "dir":
        recipe = state.migration.recipe
        depth = recipe.shard.depth if recipe else _DEPTH
        return lambda file: get_directory_prefix(file.path, depth)
    if by == "rung":
        steps = list_step_names(state)
        return lambda file: get_step_name(steps, file.rung) or NO_GROUP
    if by == "shard":
        shards = state.migration.map_files_to_shards()
        return lambda file: shards.get(file.path, NO_GROUP)
    return _get_reason_group


def _get_reason_group(file: FileRecord) -> str:
    if not file.has_failed:
        return NO_GROUP
    return file.signature or file.reason or NO_GROUP


def get_directory_prefix(path: str, depth: int) -> str:
    """Return the first `depth` directories of a path; `.` for a file at the top."""
    return "/".join(path.split("/")[:-1][:depth]) or "."


def list_step_names(state: RunState) -> list[str]:
    """Return the ids of the ladder's steps."""
    recipe = state.migration.recipe
    return [step.id for step in recipe.step] if recipe else []


def get_step_name(names: Sequence[str], rung: int) -> str | None:
    """Return the id of a step by its place in the ladder; None for a file that no step has taken."""
    if 0 <= rung < len(names):
        return names[rung]
    return None


def _count_pull_requests(state: RunState, name: str) -> int:
    """Return how many pull requests a group has: one that is too large has several, with numbers behind its name."""
    own = re.compile(re.escape(name) + r"(?:[ .#-]?\d+)?")
    return sum(own.fullmatch(group) is not None for group in state.migration.prs)


def list_example_paths(files: Iterable[FileRecord], limit: int = 3) -> tuple[str, ...]:
    """Return the first paths of files, sorted."""
    return tuple(sorted(file.path for file in files)[:limit])
