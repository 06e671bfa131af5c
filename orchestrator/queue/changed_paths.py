"""The paths that candidates change: those that share none are not merged with each other to find conflicts."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from orchestrator.domain.ids import CommitId, UnitId
from worktrees.git import Git

PathReader = Callable[[CommitId, UnitId], Awaitable[frozenset[str]]]
"""Reads the paths that a unit changes against its common history with a commit, also those that it removes."""


async def read_changed_paths(git: Git, head: CommitId, commit: CommitId) -> frozenset[str]:
    """Return the paths that a commit changes against its common history with `head`."""
    output = await git.run_text("diff", "--name-only", "--no-renames", "-z", f"{head}...{commit}")
    return frozenset(filter(None, output.split("\0")))


@dataclass
class CandidatePaths:
    """The paths of candidates, each read once, and the units that are known to fit on the branch's tip."""

    by_unit: dict[UnitId, frozenset[str]] = field(default_factory=dict)
    fitting: set[UnitId] = field(default_factory=set)

    async def load_paths(self, head: CommitId, unit: UnitId, read: PathReader) -> frozenset[str]:
        """Return a unit's paths with the folders above them, which may not become files.

        What had landed when the unit was begun is in its history and in that of `head`: none of its paths.
        """
        if unit not in self.by_unit:
            paths = set(await read(head, unit))
            for path in tuple(paths):
                paths.update(f"{parent}/" for parent in PurePosixPath(path).parents)
            self.by_unit[unit] = frozenset(paths)
        return self.by_unit[unit]

    def find_overlaps(self, unit: UnitId, others: Iterable[UnitId]) -> list[UnitId]:
        """Return those of other units that change a file that this one changes, or a folder that it makes a file."""
        return [other for other in others if self._overlap(self.by_unit[unit], self.by_unit[other])]

    def follow_landing(self, landed: Iterable[UnitId]) -> None:
        """Forget of those that share a path with what landed that they fit."""
        known = [unit for unit in landed if unit in self.by_unit]
        self.fitting = {unit for unit in self.fitting if not self.find_overlaps(unit, known)}

    def _overlap(self, first: frozenset[str], second: frozenset[str]) -> bool:
        for path in first & second:
            if not path.endswith("/"):
                return True
        return any(f"{path}/" in second for path in first) or any(f"{path}/" in first for path in second)
