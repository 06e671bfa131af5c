"""Groups of landed shards that make up a pull request each, stable while more lands, and the commits of their branches.

A branch that was shown to people only ever goes forward: what is taken back is one more commit.
"""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.recipe.merge import TITLE_PLACEHOLDERS
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.engine.context import RunContext
from worktrees.diffs.tree_changes import compare_trees
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.packs import find_existing_objects
from worktrees.ref_store.refs import read_ref

NO_OWNER = "no-owner"
TOGETHER = "together"
"""The group of shards whose own groups are not green alone."""
_FOREIGN = compile_lazily(r"[^A-Za-z0-9_+=-]+")


_Blobs = dict[str, tuple[str, str] | None]


@dataclass(frozen=True)
class PullRequestGroup:
    """Shards that are reviewed as one, in landing order."""

    name: str
    shards: tuple[str, ...]


def group_shards(state: RunState, recipe: Recipe) -> tuple[PullRequestGroup, ...]:
    """Return the groups in the order in which their first shards landed.

    Shards that were taken back still count, so that the others stay where they are.
    """
    keyed: dict[str, list[Shard]] = {}
    for shard in list_landed_shards(state):
        keyed.setdefault(_choose_key(shard, recipe), []).append(shard)
    groups = []
    for key, shards in keyed.items():
        for number, part in enumerate(_split_shards(shards, recipe.merge.max_files_per_pr), start=1):
            name = key if number == 1 else f"{key}-{number}"
            groups.append(PullRequestGroup(name, tuple(shard.name for shard in part)))
    return tuple(groups)


def list_landed_shards(state: RunState) -> list[Shard]:
    """Return the shards that have landed, in landing order."""
    order: dict[str, int] = {}
    for landing in state.landings:
        for part in landing.parts:
            order[part.commit] = len(order)
    shards = [shard for shard in state.migration.shards.values() if shard.commit is not None]
    return sorted(shards, key=lambda shard: order.get(shard.commit or "", -1))


def merge_groups(groups: Iterable[PullRequestGroup], state: RunState) -> PullRequestGroup:
    """Join groups to one, with its shards in landing order."""
    wanted = {name for group in groups for name in group.shards}
    names = [shard.name for shard in list_landed_shards(state)]
    return PullRequestGroup(TOGETHER, tuple(filter(wanted.__contains__, names)))


def list_group_files(state: RunState, group: PullRequestGroup) -> list[FileRecord]:
    """Return the files of a group that stand changed on the PR branch."""
    files = state.migration.list_files(map(state.migration.shards.__getitem__, group.shards))
    return [file for file in files if file.status == FileStatus.MERGED and file.landed]


def get_group_branch(state: RunState, group: PullRequestGroup) -> str:
    """Return the branch of a group: beside the run's own, since git cannot keep `a/b` beside `a`."""
    known = state.migration.prs.get(group.name)
    if known and known.branch:
        return known.branch
    return f"{state.run.branch}--{format_ref_part(group.name)}"


def format_ref_part(name: str) -> str:
    """Return a group's name as part of a ref.

    Two names may become one: a name that is not kept whole gets a checksum.
    """
    plain = _FOREIGN.sub("-", name).strip("-")[:80]
    return plain if plain == name else f"{plain or 'group'}-{crc32(name.encode()):08x}"


def format_pr_title(recipe: Recipe, name: str, files: int) -> str:
    """Return the title of a pull request of so many files."""
    words = zip(TITLE_PLACEHOLDERS, (recipe.migration.id, recipe.title, name or "all", str(files)), strict=True)
    title = recipe.merge.title or (f"{recipe.title}: {name}" if name else recipe.title)
    for word, meant in words:
        title = title.replace(word, meant)
    return title


def _choose_key(shard: Shard, recipe: Recipe) -> str:
    match recipe.merge.group_pr:
        case "shard":
            return shard.name
        case "owner":
            return shard.owner or NO_OWNER
        case "directory":
            return _find_common_directory(shard.files, recipe.shard.depth)
    return "all"


def _find_common_directory(paths: Sequence[str], depth: int) -> str:
    """Return what the files' directories have in common, at most `depth` of them."""
    common = posixpath.commonpath(list(map(posixpath.dirname, paths))) if paths else ""
    return "/".join(common.split("/")[:depth]) or "root"


def _split_shards(shards: Sequence[Shard], max_files: int) -> list[list[Shard]]:
    """Return parts of at most so many files each (0: no limit), filled in landing order.

    A larger shard is a part alone.
    """
    parts: list[list[Shard]] = []
    size = 0
    for shard in shards:
        if not parts or (max_files and size + len(shard.files) > max_files):
            parts.append([])
            size = 0
        parts[-1].append(shard)
        size += len(shard.files)
    return parts


async def commit_group(context: RunContext, group: PullRequestGroup) -> CommitId:
    """Return the last commit of the group, on top of where its branch was last put, or of the base.

    The same state always gives the same commits.
    """
    git, state = context.repository.git, context.state
    tip = await find_group_tip(context, group)
    landed = {file.path: (file.mode, file.landed or file.base) for file in list_group_files(state, group)}
    for name in group.shards:
        shard = state.migration.shards[name]
        changes: _Blobs = {path: landed[path] for path in shard.files if path in landed}
        message = await git.run_text("log", "-1", "--format=%B", shard.commit or "")
        tip = await _commit_changes(context, tip, changes, message)
    back: _Blobs = {}
    for change in await compare_trees(git, state.run.base, tip):
        if change.path in state.migration.files and change.path not in landed:
            file = state.migration.files[change.path]
            back[change.path] = (file.mode, file.base)
    trailers = f"Group: {group.name}\nOrchestrate-Run: {state.run.run}\n"
    message = f"Take back what no longer stands on the run's branch\n\n{trailers}"
    return await _commit_changes(context, tip, back, message)


async def find_group_tip(context: RunContext, group: PullRequestGroup) -> CommitId:
    """Return where the run has put the group's branch, perhaps without having come to a pull request for it."""
    git, state = context.repository.git, context.state
    known, ref = state.migration.prs.get(group.name), f"refs/heads/{get_group_branch(state, group)}"
    shown = state.run.base
    if known and await find_existing_objects(git, [known.head]):
        shown = CommitId(known.head)
    stands = await read_ref(git, ref)
    is_ours = stands in state.ref_history.get(ref, ())
    if stands and is_ours and await is_ancestor(git, shown, stands):
        return CommitId(stands)
    return shown


async def _commit_changes(context: RunContext, tip: CommitId, changes: _Blobs, message: str) -> CommitId:
    """Add a commit, unless it would change nothing; return the last one."""
    commit, tree = await context.commit_changes(tip, changes, message)
    return tip if tree == await context.read_tree_id(tip) else commit
