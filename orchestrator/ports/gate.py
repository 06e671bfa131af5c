"""The gate as the queue sees it."""

from typing import Protocol

from orchestrator.domain.base import Frozen
from orchestrator.domain.check import Difference
from orchestrator.domain.ids import CommitId, TreeId


class GateResult(Frozen):
    """The gate's word on one tree; `cached` when every receipt existed already."""

    tree: TreeId
    difference: Difference
    receipts: tuple[str, ...]
    cached: bool = False


class Gate(Protocol):
    """Runs the run's checks on a commit's tree and compares with the baseline."""

    async def judge(self, commit: CommitId, tree: TreeId, purpose: str, fresh: bool = False) -> GateResult:
        """The difference to the baseline; `fresh` runs the checks again even if receipts exist.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
        ...
