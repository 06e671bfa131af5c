"""Changes that a merge made and neither side asked for: an earlier side's files or lines that went missing.

A merge on a wrong base takes back what came before it, without any conflict. Here a merge is held against its sides
again, independently of how it was made: it may change in ours only what theirs changed since their base.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from worktrees.diffs.tree_changes import SUBMODULE, EntryChange, compare_tree_pairs
from worktrees.git import Git
from worktrees.object_store.batch_reader import GitObject, read_objects

_ALGORITHMS = ("histogram", "myers")
_Lines = Counter[bytes]
_Changes = Mapping[str, EntryChange]


class TreeMerge(NamedTuple):
    """A merge by its trees: what changed from `base` to `theirs` was applied to `ours` and made `merged`."""

    base: str
    ours: str
    theirs: str
    merged: str


async def find_foreign_changes(git: Git, merges: Sequence[TreeMerge]) -> list[tuple[str, ...]]:
    """Return for each merge the paths in which it changed `ours` otherwise than `theirs` changed since `base`.

    Files that a side renamed are followed. Takes one process, and a few more for each merge in which both sides changed
    the same files.

    Raises:
        GitError: one of the trees does not exist.
    """
    pairs: list[tuple[str, str]] = []
    for one in merges:
        pairs += [(one.ours, one.merged), (one.base, one.theirs)]
    compared = await compare_tree_pairs(git, pairs)
    found = []
    for place, one in enumerate(merges):
        made, asked = compared[2 * place], compared[2 * place + 1]
        shared = {path: change for path, change in made.items() if asked.get(path) != change}
        found.append(await _Merge(git, one, asked).list_foreign(shared) if shared else ())
    return found


class _Place(NamedTuple):
    """Where one file stands in the four trees of a merge."""

    base: str
    ours: str
    theirs: str
    merged: str


@dataclass(frozen=True)
class _Merge:
    """One merge in which some files did not change just as `theirs` changed them."""

    git: Git
    trees: TreeMerge
    asked: _Changes

    async def list_foreign(self, shared: _Changes) -> tuple[str, ...]:
        ours = await self._read_renames(self.trees.ours)
        theirs = await self._read_renames(self.trees.theirs)
        foreign, places = [], {}
        for path, change in shared.items():
            place = self._find_place(path, change, ours, theirs)
            if place is None or not self._has_known_mode(change, place):
                foreign.append(path)
            else:
                places[path] = place
        for path, files in zip(places, await self._read_files(list(places.values())), strict=True):
            if not await self._keeps_lines(*files):
                foreign.append(path)
        return tuple(sorted(foreign))

    async def _read_renames(self, side: str) -> Mapping[str, str]:
        """Return the files that a side renamed, each new path with its old one."""
        words = ("diff-tree", "-r", "-M", "-l7000", "--diff-filter=R", "--name-status", "-z", self.trees.base, side)
        fields = (await self.git.run_text(*words)).split("\0")
        return dict(zip(fields[2::3], fields[1::3], strict=False))

    def _find_place(
        self, path: str, change: EntryChange, ours: Mapping[str, str], theirs: Mapping[str, str]
    ) -> _Place | None:
        """Return where the file stands everywhere; None if `theirs` did not ask for any change of it."""
        if path not in self.asked:
            source = ours.get(path)
            is_asked = source in self.asked and change.new_mode is not None
            return _Place(source, path, source, path) if source and is_asked else None
        if change.new_mode is None:  # gone, so its lines must be where `theirs` moved them
            target = next((new for new, old in theirs.items() if old == path), None)
            return _Place(path, path, target, target) if target else None
        source = theirs.get(path, path)
        return _Place(source, source if change.old_mode is None else path, path, path)

    def _has_known_mode(self, change: EntryChange, place: _Place) -> bool:
        asked = self.asked.get(place.theirs)
        known = {change.old_mode, asked.new_mode if asked else None}
        return change.new_mode is None or (change.new_mode in known and change.new_mode != SUBMODULE)

    async def _read_files(self, places: Sequence[_Place]) -> Sequence[Sequence[GitObject | None]]:
        """Return each file as it stands in the four trees, with one process."""
        names = []
        for place in places:
            for tree, path in zip(self.trees, place, strict=True):
                names.append(f"{tree}:{path}".encode("utf-8", "surrogateescape"))
        found, width = await read_objects(self.git, names), len(self.trees)
        return [found[start : start + width] for start in range(0, len(found), width)]

    async def _keeps_lines(
        self, base: GitObject | None, ours: GitObject | None, theirs: GitObject | None, merged: GitObject | None
    ) -> bool:
        """Return True if no line came or went in `ours` that did not come or go in `theirs`."""
        if theirs is None or merged is None:
            return False
        before, after = _count_lines(ours), _count_lines(merged)
        gone, come = before - after, after - before
        first, last = _count_lines(base), _count_lines(theirs)
        if gone <= first - last and come <= last - first:
            return True
        for algorithm in _ALGORITHMS:  # lines that moved count as gone and come, which git's own hunks tell
            may_go, may_come = await self._count_changed(base, theirs, algorithm)
            if gone <= may_go and come <= may_come:
                return True
        return False

    async def _count_changed(self, base: GitObject | None, theirs: GitObject, algorithm: str) -> tuple[_Lines, _Lines]:
        """Return the lines that went and that came from `base` to `theirs`."""
        if base is None:
            return Counter(), _count_lines(theirs)
        words = ("diff", "--text", "-U0", "--no-color", f"--diff-algorithm={algorithm}", base.oid, theirs.oid)
        lines = (await self.git.run(*words)).stdout.split(b"\n")
        counted: dict[bytes, _Lines] = {b"-": Counter(), b"+": Counter()}
        for line in _skip_header(lines):
            if line[:1] in counted:
                counted[line[:1]][line[1:].rstrip(b"\r")] += 1
        return counted[b"-"], counted[b"+"]


def _skip_header(lines: Sequence[bytes]) -> Iterator[bytes]:
    is_within = False
    for line in lines:
        is_within = is_within or line.startswith(b"@@")
        if is_within:
            yield line


def _count_lines(found: GitObject | None) -> _Lines:
    """Count equal lines; ends of lines are all the same, as attributes may have them converted."""
    if found is None:
        return Counter()
    lines = found.content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return Counter(line.rstrip(b"\r") for line in lines)
