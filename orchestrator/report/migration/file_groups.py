"""Files of a migration in groups: by owner, directory, shard, step or reason, and what became of each group."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration.burndown import counts_sites, get_found_weight, get_remaining_weight
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState

GroupKind = Literal["owner", "dir", "rung", "reason", "shard"]
NO_GROUP = "-"
"""The name of the group of files that have no owner, no shard, no reason, …"""
_DEPTH = 2


@dataclass
class FileGroup:
    """Some files of a migration. `sites` and `left` are weighted; `seconds` are those of each file that took any.

    `files` has those that have something to do, `done` the landed ones of them, `rejected` those that failed: for
    good, or until the next step takes them. `usd` is what model calls for them cost, as far as that is known;
    `unpriced` counts those of which it is not.
    """

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

    def as_object(self) -> dict[str, Any]:
        """As data; `p50_s` is the median of seconds a file took, None if none took any."""
        return {
            "name": self.name,
            "files": self.files,
            "done": self.done,
            "share": round(self.done / self.files, 4) if self.files else 0.0,
            "rejected": self.rejected,
            "skipped": self.skipped,
            "sites": round(self.sites, 3),
            "sites_left": round(self.left, 3),
            "prs": self.prs,
            "p50_s": round(median(self.seconds), 3) if self.seconds else None,
            "usd": round(self.usd, 6),
            "top_reason": self.reasons.most_common(1)[0][0] if self.reasons else "",
        }


def build_file_groups(state: RunState, by: GroupKind) -> list[FileGroup]:
    """All groups, those with most left first."""
    name_of, has_sites = build_group_namer(state, by), counts_sites(state.recipe)
    made: dict[str, FileGroup] = {}
    for file in state.files.values():
        if file.status != FileStatus.NOTHING_TO_DO:
            name = name_of(file)
            group = made.get(name) or made.setdefault(name, FileGroup(name))
            _count(state, group, file, has_sites)
    for group in made.values() if state.prs else ():
        group.prs = _pull_requests(state, group.name)
    return sorted(made.values(), key=lambda group: (-group.left, -group.rejected, group.name))


def _count(state: RunState, group: FileGroup, file: FileRecord, has_sites: bool) -> None:
    group.files += 1
    group.done += file.status == FileStatus.MERGED
    group.skipped += file.status == FileStatus.SKIPPED
    group.sites += get_found_weight(file, has_sites)
    group.left += get_remaining_weight(file, has_sites)
    if file.seconds:
        group.seconds.append(file.seconds)
    spent = state.spent_by_task.get(TaskId(file.path))
    if spent is not None:
        group.usd += float(spent.cost_usd)
        group.unpriced += spent.unpriced_calls
    if has_failed(file):
        group.rejected += 1
        group.reasons[get_failure_key(file)] += 1


def has_failed(file: FileRecord) -> bool:
    """Return True if it failed: for good, or until the next step takes it."""
    return file.has_failed


def get_failure_key(file: FileRecord) -> str:
    """What files that failed are counted together by."""
    return file.signature or file.reason or file.status.value


def build_group_namer(state: RunState, by: GroupKind) -> Callable[[FileRecord], str]:
    """Tells the name of the group that a file is in."""
    if by == "owner":
        return lambda file: file.owner or NO_GROUP
    if by == "dir":
        depth = int((state.recipe or {}).get("shard", {}).get("depth", _DEPTH))
        return lambda file: get_directory_prefix(file.path, depth)
    if by == "rung":
        steps = list_step_names(state.recipe)
        return lambda file: steps[file.rung] if 0 <= file.rung < len(steps) else NO_GROUP
    if by == "shard":
        shard_of = map_files_to_shards(state)
        return lambda file: shard_of.get(file.path, NO_GROUP)
    return lambda file: (file.signature or file.reason or NO_GROUP) if has_failed(file) else NO_GROUP


def get_directory_prefix(path: str, depth: int) -> str:
    """The first so many directories of a path; `.` for what lies at the top."""
    return "/".join(path.split("/")[:-1][:depth]) or "."


def map_files_to_shards(state: RunState) -> dict[str, str]:
    """Path → the name of the shard that the file is in."""
    return {path: shard.name for shard in state.shards.values() for path in shard.files}


def list_step_names(recipe: Mapping[str, Any] | None) -> list[str]:
    """The ids of the ladder's steps."""
    return [str(step.get("id", "")) for step in (recipe or {}).get("step", ())]


def _pull_requests(state: RunState, name: str) -> int:
    """How many pull requests a group has; one that is too large has several, with numbers behind its name."""
    own = re.compile(re.escape(name) + r"(?:[ .#-]?\d+)?")
    return sum(own.fullmatch(group) is not None for group in state.prs)


def list_example_paths(files: Iterable[FileRecord], most: int = 3) -> list[str]:
    """The first paths of some files."""
    return sorted(file.path for file in files)[:most]
