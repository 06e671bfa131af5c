"""The gate as the queue sees it."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.purpose import Purpose


class GateResult(FrozenModel):
    """The gate's word on one tree; `cached` when every receipt existed already.

    `is_whole` tells that every check of the gate ran, so that what was not seen is not there.
    """

    tree: TreeId
    difference: Difference
    receipts: tuple[str, ...]
    cached: bool = False
    is_whole: bool = True


class Gate(Protocol):
    """Runs the run's checks on a commit's tree and compares with the baseline."""

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        """Return the difference to the baseline; `fresh` runs the checks again even if receipts exist.

        A tree of which only a few tests are red is tested again, `reruns` times in all.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        """Probe a tree for symptoms of another one; see `orchestrator.domain.judging.symptoms` for what they are.

        One run of the checks concerned, as narrow as can be. What is found says something of these symptoms alone,
        unless `is_whole`. Nothing lands by it. `look` counts how often the tree was probed before for the same search:
        the receipts that exist answer in their order, before anything is run again.

        Raises:
            EnvironmentProblem: the checks could not be run at all.
        """
