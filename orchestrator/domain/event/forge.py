"""Events of a pull request after it was opened: what its checks say, that it was merged, that it was closed."""

from typing import Literal

from orchestrator.domain.event.base import Done, Event, Intent
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.forge_check import ForgeCheck


class ChecksSeen(Event):
    """The forge's checks of a commit of the pull request `ref`: at the first look, and when they change."""

    kind: Literal["checks.seen"] = "checks.seen"
    forge: str
    ref: str
    commit: CommitId
    checks: tuple[ForgeCheck, ...] = ()


class PrMerging(Intent):
    """The pull request is about to be merged, if its head is still this commit."""

    kind: Literal["merge.started"] = "merge.started"
    forge: str
    ref: str
    commit: CommitId


class PrMerged(Done):
    """The pull request is merged; `new` is where its target stands with it."""

    kind: Literal["merge.finished"] = "merge.finished"
    forge: str
    ref: str
    commit: CommitId
    new: CommitId


class PrClosing(Intent):
    """The pull request is about to be closed unmerged; `reason` is the comment that says why."""

    kind: Literal["close.started"] = "close.started"
    forge: str
    ref: str
    reason: str


class PrClosed(Done):
    """The pull request is closed."""

    kind: Literal["close.finished"] = "close.finished"
    forge: str
    ref: str
