"""The forge in the repository itself: a pull request is opened once, and each has a number of its own."""

from pathlib import Path

import anyio
import pytest

from orchestrator.domain.ids import CommitId, RunId
from orchestrator.forge.local import LocalForge
from orchestrator.ports.forge import PullRequest
from tests.running.projects import calculator, git, refs
from worktrees.repositories.repository import GitRepository

WHEN = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def forge(root: Path) -> LocalForge:
    return LocalForge(GitRepository.open(root).git, root.parent / "prs", WHEN)


def request(root: Path, branch: str, body: str = "what and why") -> PullRequest:
    head = CommitId(git(root, "rev-parse", "HEAD"))
    return PullRequest(run=RunId("r"), title="Better", body=body, head=branch, commit=head, base=head, target="main")


def history(root: Path, number: int) -> int:
    return int(git(root, "rev-list", "--count", f"refs/orchestrate/prs/{number}"))


async def test_opening_the_same_pull_request_again_changes_nothing(root: Path) -> None:
    first = await forge(root).open_pull_request(request(root, "a"))
    assert await forge(root).open_pull_request(request(root, "a")) == first
    assert history(root, 1) == 1


async def test_a_changed_text_is_a_new_version_of_the_same_pull_request(root: Path) -> None:
    first = await forge(root).open_pull_request(request(root, "a"))
    assert (await forge(root).open_pull_request(request(root, "a", "more"))).ref == first.ref
    assert history(root, 1) == 2


async def test_runs_that_end_in_the_same_moment_get_numbers_of_their_own(root: Path) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(forge(root).open_pull_request, request(root, f"branch-{number}"))
    numbers = {f"refs/orchestrate/prs/{number}" for number in range(1, 7)}
    assert {ref for ref in refs(root) if "/prs/" in ref} == numbers
