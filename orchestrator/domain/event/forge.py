"""Events of a pull request after it was opened: what its checks say, that it was merged, that it was closed."""

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.forge_check import ForgeCheck


class PullRequestFact(FrozenModel):
    """The pull request that an event is about: `ref` names it on its forge."""

    forge: str
    ref: str


class ChecksSeen(PullRequestFact, Event, kind="checks.seen"):
    """The forge's checks of a commit of the pull request `ref`: at the first look, and when they change."""

    commit: CommitId
    checks: tuple[ForgeCheck, ...] = ()


class PrMerging(PullRequestFact, Intent, kind="merge.started"):
    """The pull request is about to be merged, if its head is still this commit.

    In this repository the branch `target` is to be moved to `new`; a forge moves its own, and says where to afterwards.
    """

    commit: CommitId
    target: str = ""
    new: CommitId | None = None


class PrMerged(PullRequestFact, Done, kind="merge.finished"):
    """The pull request is merged; `new` is where its target stands with it."""

    commit: CommitId
    new: CommitId


class PrClosing(PullRequestFact, Intent, kind="close.started"):
    """The pull request is about to be closed unmerged; `reason` is the comment that says why."""

    reason: str


class PrClosed(PullRequestFact, Done, kind="close.finished"):
    """The pull request is closed."""
