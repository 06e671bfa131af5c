"""A file as it was and as it is to be, with what rules ask of it: sites on both sides, and the lines that differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.domain.migration.files import SitePlace
from orchestrator.engine.context import RunContext
from worktrees.object_store.trees import list_tree


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
