"""The line that a restart left behind: commits that are on the PR branch no more, and the ref that keeps them."""

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TaskId


class LeftLine(FrozenModel):
    """The commits from `start` to `tip` of one iteration. The ref `kept` holds them all.

    The next iteration began from `start`. `tasks` had landed on what was left; `foreign` is the number of commits on it
    that the run did not make.
    """

    iteration: int
    start: CommitId
    tip: CommitId
    kept: str
    tasks: tuple[TaskId, ...] = ()
    foreign: int = 0
