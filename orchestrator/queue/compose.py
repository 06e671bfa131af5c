"""Putting units together on top of what landed: merges for tasks, replaced blobs for files. No worktree is needed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from orchestrator.domain.base import Frozen
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from worktrees.git import Git
from worktrees.merge import Conflicted, commit_tree, merge_trees
from worktrees.overlay import overlay
from worktrees.trees import tree_of


class Composed(Frozen):
    """A commit that holds all units asked for, on top of the head it was asked for."""

    commit: CommitId
    tree: TreeId


class Clash(Frozen):
    """`unit` conflicts textually in `paths` with what stands before it; `with_head` when with the head itself."""

    unit: UnitId
    paths: tuple[str, ...]
    with_head: bool


class Composer(Protocol):
    """One way to put units together. The same arguments always give the same commit."""

    async def compose(self, head: CommitId, units: Sequence[UnitId]) -> Composed | Clash:
        """All units on top of `head`."""
        ...


class MergeComposer:
    """Units are commits; each is merged in turn, with a merge commit of its own."""

    def __init__(
        self, git: Git, candidates: Mapping[UnitId, CommitId], message: Callable[[UnitId], str], when: str
    ) -> None:
        self._git = git
        self._candidates = candidates
        self._message = message
        self._when = when

    async def compose(self, head: CommitId, units: Sequence[UnitId]) -> Composed | Clash:
        """Merge the units' commits in order."""
        tip, tree = head, TreeId(await tree_of(self._git, head))
        for unit in units:
            merged = await merge_trees(self._git, tip, self._candidates[unit])
            if isinstance(merged, Conflicted):
                return Clash(unit=unit, paths=merged.paths, with_head=await self._clashes_with(head, unit))
            tree = TreeId(merged.tree)
            parents = [tip, self._candidates[unit]]
            tip = CommitId(await commit_tree(self._git, tree, parents, self._message(unit), self._when))
        return Composed(commit=tip, tree=tree)

    async def _clashes_with(self, head: CommitId, unit: UnitId) -> bool:
        return isinstance(await merge_trees(self._git, head, self._candidates[unit]), Conflicted)


class OverlayComposer:
    """Units are files with new contents; all of them together make one commit."""

    def __init__(
        self,
        git: Git,
        changes: Mapping[UnitId, tuple[str, str] | None],
        message: Callable[[Sequence[UnitId]], str],
        when: str,
    ) -> None:
        self._git = git
        self._changes = changes
        self._message = message
        self._when = when

    async def compose(self, head: CommitId, units: Sequence[UnitId]) -> Composed:
        """Replace the units' blobs in the head's tree."""
        base = await tree_of(self._git, head)
        tree = await overlay(self._git, base, {str(unit): self._changes[unit] for unit in units})
        commit = await commit_tree(self._git, tree, [head], self._message(units), self._when)
        return Composed(commit=CommitId(commit), tree=TreeId(tree))
