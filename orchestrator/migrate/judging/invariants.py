"""Invariants of single files, as rules over what a file was and what it is to be."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.verify import Invariant, InvariantKind, Level
from orchestrator.engine.context import RunContext
from worktrees.object_store.trees import list_tree

FILE_KINDS = frozenset({"sites-at-most", "sites-at-least", "no-new-match", "paths-only", "max-diff"})
"""Kinds that can be told from a file's contents alone; the others need the tree, its tests, or the steps."""
TREE_KINDS: frozenset[InvariantKind] = frozenset({"command", "tests-not-lost", "old-source-passes"})
SITE_KINDS = frozenset({"sites-at-most", "sites-at-least"})
_ORDER: tuple[Level, ...] = ("step", "shard", "queue", "final")


class ChangedRegion(NamedTuple):
    """Neighbouring lines that were replaced: `removed` of them from `old_line` on became `added` at `new_line`.

    Lines count from 1. Where nothing was removed, the new ones came after `old_line`, where nothing was added, the old
    ones were after `new_line`.
    """

    old_line: int
    removed: int
    new_line: int
    added: int


class RuleViolation(NamedTuple):
    """A rule that a file breaks: the reason in words, and the same without what varies from file to file."""

    reason: str
    signature: str


async def list_changed_files(context: RunContext, tree: str) -> Mapping[str, tuple[str, str]]:
    """Return mode and blob of the run's files that differ from the base in a tree or commit, by path."""
    files, changes = context.state.migration.files, {}
    for entry in await list_tree(context.repository.git, tree):
        if entry.path in files and entry.oid != files[entry.path].base:
            changes[entry.path] = (entry.mode, entry.oid)
    return changes


@dataclass(frozen=True)
class FileChange:
    """A file before and after: contents, sites and regions that differ, top to bottom."""

    path: str
    before: bytes
    after: bytes
    sites_before: Sequence[SitePlace] = ()
    sites_after: Sequence[SitePlace] = ()
    regions: Sequence[ChangedRegion] = ()

    @property
    def changed_lines(self) -> int:
        """The number of lines taken out and put in."""
        return sum(region.removed + region.added for region in self.regions)


def select_due_invariants(invariants: Iterable[Invariant], level: Level) -> tuple[Invariant, ...]:
    """Return the invariants to be looked at where files have come as far as `level`.

    Those of it and of earlier levels.
    """
    reached = _ORDER[: _ORDER.index(level) + 1]
    return tuple(one for one in invariants if one.level in reached)


def is_scope_wide(invariant: Invariant) -> bool:
    """Return True if it bounds the sites of the whole scope at the end, and not those of each file."""
    return invariant.kind in SITE_KINDS and invariant.level == "final"


def check_scope_invariants(invariants: Iterable[Invariant], sites: Mapping[str, int]) -> Iterator[str]:
    """Yield, in words, each invariant of the whole scope that so many sites of each kind break."""
    for one in filter(is_scope_wide, invariants):
        found = sites.get(one.site, 0)
        if one.kind == "sites-at-most" and found > one.max:
            yield f"{found} sites of {one.site} are left in scope, at most {one.max} may be"
        if one.kind == "sites-at-least" and found < one.min:
            yield f"{found} sites of {one.site} are in scope, at least {one.min} have to be"


def find_broken_invariant(change: FileChange, invariants: Iterable[Invariant]) -> RuleViolation | None:
    """Return the first of the invariants that a change of a file breaks; None if it keeps them all."""
    for invariant in invariants:
        if invariant.kind in FILE_KINDS:
            for violation in _CHECKS[invariant.kind](invariant, change):
                return violation
    return None


def _at_most(invariant: Invariant, change: FileChange) -> Iterator[RuleViolation]:
    left = _count(invariant, change)
    if left > invariant.max:
        words = f"sites of {invariant.site} are left"
        yield RuleViolation(f"{left} {words}, at most {invariant.max} may be", f"{words}, more than {invariant.max}")


def _at_least(invariant: Invariant, change: FileChange) -> Iterator[RuleViolation]:
    found = _count(invariant, change)
    if found < invariant.min:
        words = f"sites of {invariant.site} are there"
        yield RuleViolation(
            f"{found} {words}, at least {invariant.min} have to be", f"{words}, fewer than {invariant.min}"
        )


def _no_new_match(invariant: Invariant, change: FileChange) -> Iterator[RuleViolation]:
    pattern = re.compile(invariant.pattern.encode(), re.MULTILINE)
    new = len(pattern.findall(change.after)) - len(pattern.findall(change.before))
    if new > 0:
        words = f"new matches of {invariant.pattern}"
        line = _find_first_new(pattern, change)
        yield RuleViolation(f"{new} {words}: {line}".removesuffix(": "), words)


def _paths_only(invariant: Invariant, change: FileChange) -> Iterator[RuleViolation]:
    if not GitIgnoreSpec.from_lines(invariant.paths).match_file(change.path):
        globs = ", ".join(invariant.paths)
        yield RuleViolation(f"only {globs} may change", f"only {globs} may change")


def _max_diff(invariant: Invariant, change: FileChange) -> Iterator[RuleViolation]:
    if change.changed_lines > invariant.lines:
        words = f"lines changed, at most {invariant.lines} may"
        yield RuleViolation(f"{change.changed_lines} {words}", words)


def _count(invariant: Invariant, change: FileChange) -> int:
    return sum(place.site == invariant.site for place in change.sites_after)


def _find_first_new(pattern: re.Pattern[bytes], change: FileChange) -> str:
    """Return the first line with a match that the file did not have before, for people to see what is meant."""
    old = set(change.before.splitlines())
    lines = (line for line in change.after.splitlines() if line not in old and pattern.search(line))
    return next(lines, b"").decode("utf-8", "replace").strip()[:120]


_CHECKS: dict[str, Callable[[Invariant, FileChange], Iterator[RuleViolation]]] = {
    "sites-at-most": _at_most,
    "sites-at-least": _at_least,
    "no-new-match": _no_new_match,
    "paths-only": _paths_only,
    "max-diff": _max_diff,
}
