"""A caller's word on a checkout: the paths in it that may have been written since it was last in order."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, Protocol

from worktrees.checkouts.tree_layout import TreeLayout


class ReportedChanges(NamedTuple):
    """All paths below a checkout that may differ from what they were; what it does not name is as it was.

    `names` came, went or were replaced; whatever lies below such a one is not named. `contents` are the files and
    directories whose content or attributes may have been changed, by whatever name.
    """

    names: frozenset[str]
    contents: frozenset[str]


class ChangeReports(Protocol):
    """Reports on checkouts, by whoever can know of every write to them. Both functions block."""

    def collect_changes(self, root: Path) -> ReportedChanges | None:
        """Return what has changed since the checkout was settled, None if that is not certain."""

    def settle_checkout(self, root: Path, layout: TreeLayout, written: Collection[str] | None) -> None:
        """Take the content as it is for unchanged; nothing may be writing.

        Args:
            root: the checkout.
            layout: what it holds now, apart from `.git` at its top, which counts for nothing.
            written: the files that were put there anew since it was last settled; None for all that is there.
        """
