"""Forges, on which pull requests are opened, as the engine and the jobs of a CI system see them."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, RunId
from orchestrator.domain.judging.forge_check import ForgeCheck as ForgeCheck


class PullRequest(FrozenModel):
    """A pull request as a reviewer gets it.

    `head` is the branch, `commit` its tip, `target` the branch it is meant for; `draft` says that it is to be looked
    at and not yet merged; `group` tells several of one run apart.
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
    """The place of a pull request: `ref` names it on its `forge`."""

    forge: str
    ref: str
    url: str


class ForgeRepository(Protocol):
    """A repository on a forge, apart from any run."""

    async def describe_access(self) -> str:
        """Return which repository can be written to, and by which means; empty where there is no forge to ask.

        Raises:
            EnvironmentProblem: it cannot be written to, or the forge does not answer.
        """

    async def upsert_comment(self, issue: int, marker: str, text: str) -> None:
        """Make the comment on an issue that bears `marker` say this; create it where there is none. Idempotent."""


class Forge(Protocol):
    """The pull requests of one run on one kind of forge."""

    @property
    def name(self) -> str:
        """The forge's name in events and results."""

    @property
    def has_checks(self) -> bool:
        """True if the forge runs checks, by which it is told what is green; else the gate alone tells it."""

    @property
    def moves_local_targets(self) -> bool:
        """True if a pull request is merged by moving a branch of this repository, which the engine does itself."""

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        """Open the pull request, or update the one that has the same head branch. Idempotent."""

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        """Return the forge's checks of this commit of the pull request `ref`; none where the forge runs none."""

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        """Merge the pull request if its head is still this commit; return where its target stands then. Idempotent.

        Raises:
            PersonNeeded: the forge does not allow it, the head has moved, or there is a conflict.
        """

    async def close_pull_request(self, ref: str, comment: str) -> None:
        """Close the pull request unmerged, with a comment that says why. Idempotent."""
