"""Events of a pull request after it was opened: what its checks say, that it was merged, that it was closed."""

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.forge_check import ForgeCheck


class ChecksSeen(Event, kind="checks.seen"):
    """The forge's checks of a commit of the pull request `ref`: at the first look, and when they change."""

    forge: str
    ref: str
    commit: CommitId
    checks: tuple[ForgeCheck, ...] = ()


class PrMerging(Intent, kind="merge.started"):
    """The pull request is about to be merged, if its head is still this commit."""

    forge: str
    ref: str
    commit: CommitId


class PrMerged(Done, kind="merge.finished"):
    """The pull request is merged; `new` is where its target stands with it."""

    forge: str
    ref: str
    commit: CommitId
    new: CommitId


class PrClosing(Intent, kind="close.started"):
    """The pull request is about to be closed unmerged; `reason` is the comment that says why."""

    forge: str
    ref: str
    reason: str


class PrClosed(Done, kind="close.finished"):
    """The pull request is closed."""

    forge: str
    ref: str
