"""Which landed shards make up which pull request: pure rules, stable while more lands."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.merge import TITLE_PLACEHOLDERS
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.recipe import Recipe

NO_OWNER = "no-owner"
TOGETHER = "together"
"""The group of shards whose own groups are not green alone."""
_FOREIGN = re.compile(r"[^A-Za-z0-9_+=-]+")


@dataclass(frozen=True)
class PullRequestGroup:
    """What is reviewed as one: shards in landing order."""

    name: str
    shards: tuple[str, ...]


def group_shards(state: RunState, recipe: Recipe) -> tuple[PullRequestGroup, ...]:
    """The groups in the order in which their first shards landed.

    Shards that were taken back still count, so that the others stay where they are.
    """
    keyed: dict[str, list[Shard]] = {}
    for shard in list_landed_shards(state):
        keyed.setdefault(_key(shard, recipe), []).append(shard)
    return tuple(
        PullRequestGroup(name if number == 1 else f"{name}-{number}", tuple(shard.name for shard in part))
        for name, shards in keyed.items()
        for number, part in enumerate(_divided(shards, recipe.merge.max_files_per_pr), start=1)
    )


def list_landed_shards(state: RunState) -> list[Shard]:
    """Those that have landed, in landing order."""
    commits: list[str] = [part.commit for landing in state.landings for part in landing.parts]
    order: dict[str, int] = {commit: place for place, commit in enumerate(commits)}
    shards = [shard for shard in state.shards.values() if shard.commit is not None]
    return sorted(shards, key=lambda shard: order.get(shard.commit or "", -1))


def merge_groups(groups: Iterable[PullRequestGroup], state: RunState) -> PullRequestGroup:
    """Groups as one, with its shards in landing order."""
    wanted = set()
    for group in groups:
        for name in group.shards:
            wanted.add(name)
    return PullRequestGroup(TOGETHER, tuple(shard.name for shard in list_landed_shards(state) if shard.name in wanted))


def list_group_files(state: RunState, group: PullRequestGroup) -> list[FileRecord]:
    """The files of a group that stand changed on the PR branch."""
    paths = (path for name in group.shards for path in state.shards[name].files)
    return [file for path in paths if (file := state.files[path]).status == FileStatus.MERGED and file.landed]


def get_group_branch(state: RunState, group: PullRequestGroup) -> str:
    """The branch of a group: beside the run's own, since git cannot keep `a/b` beside `a`."""
    known = state.prs.get(group.name)
    if known and known.branch:
        return known.branch
    return f"{state.run.branch}--{format_ref_part(group.name)}"


def format_ref_part(name: str) -> str:
    """A group's name as part of a ref. Two names may become one: a name that is not kept whole gets a checksum."""
    plain = _FOREIGN.sub("-", name).strip("-")[:80]
    if plain == name:
        return plain
    return f"{plain or 'group'}-{crc32(name.encode()):08x}"


def format_pr_title(recipe: Recipe, name: str, files: int) -> str:
    """The title of a pull request of so many files."""
    words = zip(TITLE_PLACEHOLDERS, (recipe.migration.id, recipe.title, name or "all", str(files)), strict=True)
    title = recipe.merge.title or (f"{recipe.title}: {name}" if name else recipe.title)
    for word, meant in words:
        title = title.replace(word, meant)
    return title


def _key(shard: Shard, recipe: Recipe) -> str:
    match recipe.merge.group_pr:
        case "shard":
            return shard.name
        case "owner":
            return shard.owner or NO_OWNER
        case "directory":
            return _directory(shard.files, recipe.shard.depth)
    return "all"


def _directory(paths: Sequence[str], depth: int) -> str:
    """What the files' directories have in common, at most `depth` of them."""
    if paths:
        common = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    else:
        common = ""
    return "/".join(common.split("/")[:depth]) or "root"


def _divided(shards: Sequence[Shard], max_files: int) -> list[list[Shard]]:
    """Parts of at most so many files each (0: no limit), filled in landing order; a larger shard is a part alone."""
    parts: list[list[Shard]] = []
    for shard in shards:
        if parts:
            size = sum(len(one.files) for one in parts[-1])
        else:
            size = 0
        if not parts or (max_files and size + len(shard.files) > max_files):
            parts.append([])
        parts[-1].append(shard)
    return parts
