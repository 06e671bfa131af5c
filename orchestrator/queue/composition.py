"""Putting units together on top of what landed: merges for tasks, replaced blobs for files. No worktree is needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from worktrees.diffs.tree_changes import compare_trees
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects
from worktrees.object_store.merge import MergeConflict, commit_tree, merge_commits
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id

BlobChange = tuple[str, str] | None
"""A file's new mode and blob; None if it goes."""
UnionParts = Sequence[tuple[str, Sequence[UnitId]]]
"""Named parts of a union, in the order in which they are committed."""


def build_single_part(units: Sequence[UnitId]) -> UnionParts:
    """Return everything together, under the name `all`."""
    return [("all", units)]


class ComposedUnion(FrozenModel):
    """A commit that holds all units asked for, on top of the head it was asked for.

    `parts` are the commits up to it, where a landing consists of several.
    """

    commit: CommitId
    tree: TreeId
    parts: tuple[LandedPart, ...] = ()


class UnitConflict(FrozenModel):
    """`unit` conflicts textually in `paths` with what stands before it; `with_head` when with the head itself."""

    unit: UnitId
    paths: tuple[str, ...]
    with_head: bool


@dataclass(frozen=True)
class UnitOrigin:
    """The changes that a unit may make as it lands: those of its commit, or the files that it replaces.

    `remade` are files that conflicted and were made anew as it was merged.
    """

    unit: UnitId
    commit: CommitId | None = None
    blobs: Mapping[str, BlobChange] = field(default_factory=lambda: MappingProxyType({}))
    remade: frozenset[str] = frozenset()


RemadeFiles = dict[UnitId, frozenset[str]]
"""Unit → the files that conflicted and were made anew as it was merged."""


class Composer(Protocol):
    """One way to put units together. The same arguments always give the same commit."""

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """Return all units on top of `head`, for a test."""

    async def compose_landing(self, head: CommitId, units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """Return the commit that lands if `tested`, composed of the same units, is green. It has the tested tree."""

    def list_origins(self, units: Sequence[UnitId]) -> list[UnitOrigin]:
        """Return for each unit what it may change, after it was composed."""


class ConflictResolver(Protocol):
    """Finishes merges that git cannot finish, where no judgement is needed."""

    async def resolve_conflict(self, tip: CommitId, unit: UnitId, conflict: MergeConflict) -> TreeId | None:
        """Return the tree of a unit merged onto a commit; None if somebody has to look at the conflict."""


@dataclass(frozen=True)
class MergeComposer:
    """Units are commits; each is merged in turn, with a commit of its own.

    With `names_candidates` that is a merge commit, else it has the one before it as its only parent. `union` are
    patterns of files of which the added lines of both sides are kept. `resolver` is asked where lines conflict;
    `remade` has the files that it made anew, also for composers before this one that composed the same.
    """

    git: Git
    candidates: Mapping[UnitId, CommitId]
    message: Callable[[UnitId], str]
    when: str
    names_candidates: bool = True
    union: tuple[str, ...] = ()
    resolver: ConflictResolver | None = None
    remade: RemadeFiles = field(default_factory=dict, repr=False, compare=False)

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """Merge the units' commits in order."""
        union = None
        for unit in units:
            tip = union.commit if union else head
            merged = await self._merge_unit(tip, unit)
            if isinstance(merged, MergeConflict):
                with_head = tip == head or isinstance(await self._merge_unit(head, unit), MergeConflict)
                return UnitConflict(unit=unit, paths=merged.paths, with_head=with_head)
            parents = [tip, self.candidates[unit]] if self.names_candidates else [tip]
            commit = await commit_tree(self.git, merged, parents, self.message(unit), self.when)
            union = ComposedUnion(commit=CommitId(commit), tree=merged)
        return union or ComposedUnion(commit=head, tree=TreeId(await read_tree_id(self.git, head)))

    async def compose_landing(self, _head: CommitId, _units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """Return the very commit that was tested."""
        return tested

    def list_origins(self, units: Sequence[UnitId]) -> list[UnitOrigin]:
        """Return the commit of each unit, with the files that were made anew as it was merged."""
        origins = []
        for unit in units:
            remade = self.remade.get(unit, frozenset[str]())
            origins.append(UnitOrigin(unit, self.candidates[unit], remade=remade))
        return origins

    async def _merge_unit(self, tip: CommitId, unit: UnitId) -> TreeId | MergeConflict:
        merged = await merge_commits(self.git, tip, self.candidates[unit], self.union)
        if not isinstance(merged, MergeConflict):
            return TreeId(merged.tree)
        tree = await self.resolver.resolve_conflict(tip, unit, merged) if self.resolver else None
        if tree is None:
            return merged
        made = [change.path for change in await compare_trees(self.git, merged.tree, tree)]
        self.remade[unit] = self.remade.get(unit, frozenset[str]()).union(made, merged.paths)
        return tree


@dataclass(frozen=True)
class OverlayComposer:
    """Units are files with new contents. A landing has a commit for each part, in the order of the parts.

    A file that somebody has changed on the branch meanwhile is not overwritten: it clashes.

    Attributes:
        git: of the repository.
        changes: what becomes of each unit, a path: mode and blob, or None to delete it.
        message: makes the message of the commit that holds these units of the part of this name.
        when: the commits' date.
        parts: divides units into named parts; each unit into one.
        expected: the blob that must stand at a unit's path before it is replaced; "" for none. Units that are not in
            it are replaced whatever stands there.
    """

    git: Git
    changes: Mapping[UnitId, BlobChange]
    message: Callable[[str, Sequence[UnitId]], str]
    when: str
    parts: Callable[[Sequence[UnitId]], UnionParts] = build_single_part
    expected: Mapping[UnitId, str] = field(default_factory=dict)

    async def compose_union(self, head: CommitId, units: Sequence[UnitId]) -> ComposedUnion | UnitConflict:
        """Replace the units' blobs in the head's tree, in one commit that is good for testing."""
        base = await read_tree_id(self.git, head)
        if not units:
            return ComposedUnion(commit=head, tree=TreeId(base))
        if clash := await self._find_conflict(base, units):
            return clash
        name = ", ".join(name for name, _ in self.parts(units))
        return await self._commit_units(base, head, name, units)

    async def compose_landing(self, head: CommitId, units: Sequence[UnitId], tested: ComposedUnion) -> ComposedUnion:
        """Return the same tree by one commit a part; the units must be those that `tested` was composed of."""
        tip, base, parts = head, await read_tree_id(self.git, head), []
        for name, members in self.parts(units):
            made = await self._commit_units(base, tip, name, members)
            parts.append(LandedPart(name=name, commit=made.commit, units=tuple(members)))
            tip, base = made.commit, made.tree
        if base != tested.tree:
            raise ValueError(f"the parts of a landing make the tree {base}, tested was {tested.tree}")
        return ComposedUnion(commit=tip, tree=tested.tree, parts=tuple(parts))

    def list_origins(self, units: Sequence[UnitId]) -> list[UnitOrigin]:
        """Return what becomes of each unit's file."""
        return [UnitOrigin(unit, blobs={str(unit): self.changes[unit]}) for unit in units]

    async def _find_conflict(self, tree: str, units: Sequence[UnitId]) -> UnitConflict | None:
        paths = [unit for unit in units if unit in self.expected]
        objects = await read_objects(self.git, [f"{tree}:{path}".encode("utf-8", "surrogateescape") for path in paths])
        for path, found in zip(paths, objects, strict=True):
            if (found.oid if found else "") != self.expected[path]:
                return UnitConflict(unit=path, paths=(str(path),), with_head=True)
        return None

    async def _commit_units(self, base: str, parent: CommitId, name: str, units: Sequence[UnitId]) -> ComposedUnion:
        tree = await overlay_tree(self.git, base, {str(unit): self.changes[unit] for unit in units})
        commit = await commit_tree(self.git, tree, [parent], self.message(name, units), self.when)
        return ComposedUnion(commit=CommitId(commit), tree=TreeId(tree))
