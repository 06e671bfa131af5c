"""Where pull requests live."""

from typing import Protocol

from orchestrator.domain.base import Frozen
from orchestrator.domain.ids import CommitId, RunId


class PullRequest(Frozen):
    """What a reviewer gets. `head` is the branch, `commit` its tip, `target` the branch it is meant for.

    `draft` says that it is to be looked at and not yet merged.
    """

    run: RunId
    title: str
    body: str
    head: str
    commit: CommitId
    base: CommitId
    target: str
    labels: tuple[str, ...] = ()
    draft: bool = False


class OpenedPullRequest(Frozen):
    """Where the pull request stands."""

    forge: str
    ref: str
    url: str


class Forge(Protocol):
    """One kind of forge."""

    @property
    def name(self) -> str:
        """Its name in events and results."""
        ...

    async def open(self, request: PullRequest) -> OpenedPullRequest:
        """Open the pull request, or update the one that has the same head branch. Idempotent."""
        ...
