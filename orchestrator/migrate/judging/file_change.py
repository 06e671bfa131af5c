"""A file as it was and as it is to be, with what rules ask of it: sites on both sides, and the lines that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.domain.migration.files import SitePlace


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
