"""The last look before the branch moves: the tree is the one that was tested, and only the members' changes are in it.

All checks can be green although a merge on a wrong base took back what landed before, together with its tests. So each
commit of a landing is held against the change of its unit: it may change no other path, and in a file that both changed
no line that the unit did not change.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import UnsafeLanding
from orchestrator.queue.composition import BlobChange, ComposedUnion, UnitOrigin
from worktrees.diffs.foreign_changes import TreeMerge, find_foreign_changes
from worktrees.diffs.tree_changes import EntryChange, compare_tree_pairs
from worktrees.git import Git
from worktrees.object_store.first_parent_line import LineCommit, find_fork_points, read_first_parents
from worktrees.object_store.trees import read_tree_id
from worktrees.safety.path_rules import escape_path

_NAMED = 3
_ADVICE = (
    "nothing landed. Git or what it works on has made a wrong merge: run git fsck, look at the two commits, and resume "
    "the run to have it made again"
)


def require_tested_tree(union: ComposedUnion, tested: TreeId) -> None:
    """Make sure that the commit that is to land has the tree that the gate has judged.

    Raises:
        UnsafeLanding: it has another one.
    """
    if union.tree != tested:
        raise UnsafeLanding(f"{union.commit[:12]} has the tree {union.tree}, tested was {tested}: {_ADVICE}")


async def require_own_changes(git: Git, old: CommitId, union: ComposedUnion, origins: Sequence[UnitOrigin]) -> None:
    """Make sure that a landing on top of `old` changes only what its units change, each in its own commit.

    `origins` are those of all units that land, in landing order.

    Raises:
        UnsafeLanding: it changes something else, or does not stand on `old`.
    """
    line = await read_first_parents(git, old, union.commit)
    steps = list(_divide_into_steps(union, origins))
    if [tuple(commit.parents[:1]) for commit in line[:1]] != [(old,)] or len(line) != len(steps):
        told = f"{union.commit[:12]} is not {len(steps)} commits on top of {old[:12]}, one for each change"
        raise UnsafeLanding(f"{told}: {_ADVICE}")
    if line[-1].tree != union.tree:
        raise UnsafeLanding(f"{union.commit[:12]} has the tree {line[-1].tree}, tested was {union.tree}: {_ADVICE}")
    trees = [await read_tree_id(git, old), *map(attrgetter("tree"), line)]
    made = list(pairwise(trees))
    await _check_merges(git, old, line, steps, made)
    await _check_replacements(git, line, steps, made)


def _divide_into_steps(union: ComposedUnion, origins: Sequence[UnitOrigin]) -> Iterator[Sequence[UnitOrigin]]:
    """Yield the origins of each commit: a part's, else a merged unit's own; all replaced files together."""
    by_unit: Mapping[UnitId, UnitOrigin] = {origin.unit: origin for origin in origins}
    if union.parts:
        for part in union.parts:
            yield [by_unit[unit] for unit in part.units]
    elif any(origin.commit is None for origin in origins):
        yield origins
    else:
        for origin in origins:
            yield [origin]


_Pairs = Sequence[tuple[str, str]]


async def _check_merges(
    git: Git, old: CommitId, line: Sequence[LineCommit], steps: Sequence[Sequence[UnitOrigin]], made: _Pairs
) -> None:
    merged = [place for place, (first, *_) in enumerate(steps) if first.commit is not None]
    commits = [str(steps[place][0].commit) for place in merged]
    if not merged:
        return
    absorbs = any(len(commit.parents) > 1 for commit in line)
    forks = await find_fork_points(git, old, commits, absorbs=absorbs)
    merges = []
    for place, fork in zip(merged, forks, strict=True):
        merges.append(TreeMerge(fork.base_tree, made[place][0], fork.tree, made[place][1]))
    for place, foreign in zip(merged, await find_foreign_changes(git, merges), strict=True):
        (origin,) = steps[place]
        _require_none(line[place], [origin], sorted(set(foreign) - origin.remade))


async def _check_replacements(
    git: Git, line: Sequence[LineCommit], steps: Sequence[Sequence[UnitOrigin]], made: _Pairs
) -> None:
    replacing = [place for place, (first, *_) in enumerate(steps) if first.commit is None]
    compared = await compare_tree_pairs(git, [made[place] for place in replacing])
    for place, changes in zip(replacing, compared, strict=True):
        wanted: dict[str, BlobChange] = {}
        for origin in steps[place]:
            wanted.update(origin.blobs)
        foreign = [path for path, change in changes.items() if not _is_wanted(path, change, wanted)]
        _require_none(line[place], steps[place], sorted(foreign))


def _is_wanted(path: str, change: EntryChange, wanted: Mapping[str, BlobChange]) -> bool:
    """Return True for what a unit puts there or deletes, and for what is gone where a file and a directory changed."""
    if path in wanted:
        blob = wanted[path]
        return (change.new_mode, change.new_oid) == blob if blob else change.new_mode is None
    if change.new_mode is not None:
        return False
    parts = path.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return any(place in wanted for place in above) or any(one.startswith(f"{path}/") for one in wanted)


def _require_none(commit: LineCommit, origins: Sequence[UnitOrigin], foreign: Sequence[str]) -> None:
    if foreign:
        units = join_limited([origin.unit for origin in origins], _NAMED)
        paths = join_limited(list(map(escape_path, foreign)), _NAMED)
        told = f"{commit.commit[:12]}, which was to land {units}, also changes what {units} did not change: {paths}"
        raise UnsafeLanding(f"{told}; {_ADVICE}")
