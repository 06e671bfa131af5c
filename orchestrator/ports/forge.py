"""Where pull requests live."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, RunId
from orchestrator.domain.judging.forge_check import ForgeCheck as ForgeCheck


class PullRequest(FrozenModel):
    """What a reviewer gets. `head` is the branch, `commit` its tip, `target` the branch it is meant for.

    `draft` says that it is to be looked at and not yet merged; `group` tells several of one run apart.
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
    group: str = ""


class OpenedPullRequest(FrozenModel):
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

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        """Open the pull request, or update the one that has the same head branch. Idempotent."""
        ...

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        """What the forge's checks say of this commit of the pull request `ref`; none where the forge runs none."""
        ...

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        """Merge the pull request if its head is still this commit, and say where its target is then. Idempotent.

        Raises:
            PersonNeeded: the forge does not allow it, the head has moved, or there is a conflict.
        """
        ...

    async def close_pull_request(self, ref: str, comment: str) -> None:
        """Close the pull request unmerged, with a word why. Idempotent."""
        ...
