"""The units of a run that a commit of its branch holds, by the trailers of the commits on the line of first parents.

A round computes this from the very commit that the branch is about to be moved from. So whatever a rival, or a process
that was killed, has landed until then does not land again, and a later move of the branch fails the compare-and-swap.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from orchestrator.domain.ids import CommitId, RunId, UnitId
from worktrees.git import Git
from worktrees.object_store.first_parent_line import LineCommit, read_first_parents

_TRAILERS = ("Orchestrate-Run", "Orchestrate-Task")


class _KnownTip(NamedTuple):
    """The last tip that was read, with the units that it holds."""

    tip: CommitId
    units: frozenset[UnitId]


_known_tips: dict[tuple[Path, RunId, CommitId], _KnownTip] = {}
"""By git directory, run and base: of a tip further on only the new commits are read."""


async def read_landed_units(git: Git, run: RunId, base: CommitId, tip: CommitId) -> frozenset[UnitId]:
    """Return the units of a run that landed between its base and a tip, with one process at most.

    Where the branch has gone back since the last call, everything is read again.

    Raises:
        GitError: one of the commits does not exist.
    """
    key = (git.git_dir, run, base)
    known = _known_tips.get(key) or _KnownTip(base, frozenset())
    if known.tip == tip:
        return known.units
    line = await read_first_parents(git, known.tip, tip, _TRAILERS)
    if known.tip != base and not _follows(line, known.tip):
        known = _KnownTip(base, frozenset())
        line = await read_first_parents(git, base, tip, _TRAILERS)
    units = known.units | _collect_units(line, run)
    _known_tips[key] = _KnownTip(tip, units)
    return units


def _follows(line: Sequence[LineCommit], tip: CommitId) -> bool:
    """Return True if the oldest commit of a line stands right on a tip."""
    return bool(line) and line[0].parents[:1] == (tip,)


def _collect_units(line: Sequence[LineCommit], run: RunId) -> set[UnitId]:
    found = set[UnitId]()
    for commit in line:
        runs, units = commit.trailers
        if run in runs:
            found.update(map(UnitId, units))
    return found
