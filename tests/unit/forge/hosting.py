"""A repository on the fake forge with a branch to propose, and the client of a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from orchestrator.domain.ids import CommitId, RunId
from orchestrator.forge.github.api import open_github_api
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.github.forge import GitHubForge
from orchestrator.forge.github.retry import GitHubRetryPolicy
from orchestrator.ports.forge import PullRequest
from tests.running.forge import TOKEN, FakeForge
from tests.running.projects import commit, git, repository
from tests.running.remotes import bare

RUN = RunId("20261122-100000-ab12")
HASTY = GitHubRetryPolicy(base_s=0.001, cap_s=0.002)
BRANCH = "orchestrate/better-ab12"


def proposable(root: Path) -> Path:
    """A bare repository with `main` and one branch that is a commit ahead."""
    checkout = repository(root / "repo", {"a.txt": "a\n"})
    remote = bare(root / "remote.git", checkout)
    new = commit(checkout, "main", "b.txt", "b\n")
    git(checkout, "push", "-q", "origin", "main", f"{new}:refs/heads/{BRANCH}")
    return remote


@asynccontextmanager
async def client(forge: FakeForge, run: RunId = RUN, token: str = TOKEN, **more: Any) -> AsyncIterator[GitHubForge]:
    """What a run opens its pull requests with."""
    place = RepositoryEndpoint(forge.url, forge.hosted.name, token, "GITHUB_TOKEN")
    async with open_github_api(place, **{"patience": HASTY, **more}) as api:
        yield GitHubForge(api, run)


def proposal(forge: FakeForge, **more: Any) -> PullRequest:
    """What the run proposes."""
    usual = {"title": "Better", "body": "It is better.\n\n- one", "head": BRANCH, "target": "main"}
    return PullRequest.model_validate({"run": RUN, "commit": head(forge), "base": head(forge, "main"), **usual, **more})


def head(forge: FakeForge, branch: str = BRANCH) -> CommitId:
    """Where a branch of the hosted repository stands."""
    return CommitId(forge.hosted.tip(branch) or "")


def ahead(forge: FakeForge, branch: str = BRANCH, path: str = "c.txt") -> CommitId:
    """Somebody adds a commit to a branch of the hosted repository."""
    new = commit(forge.hosted.path, f"refs/heads/{branch}", path, f"{path} of {branch}\n")
    git(forge.hosted.path, "update-ref", f"refs/heads/{branch}", new)
    return CommitId(new)
