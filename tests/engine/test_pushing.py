"""The PR branch on its remote, before the pull request is opened."""

from pathlib import Path

import pytest

from orchestrator.domain.event.external import PushFinished
from orchestrator.errors import UsageProblem
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import Bench, When, one
from tests.running.projects import git
from tests.running.remotes import bare

pytestmark = pytest.mark.sandbox
PUSH = {"push": "origin"}


@pytest.fixture
def remote(bench: Bench) -> Path:
    return bare(bench.root / "remote.git", bench.repository)


async def test_what_landed_is_pushed_before_the_pull_request_is_opened(bench: Bench, remote: Path) -> None:
    ended = await bench.run(*one("a"), pr=PUSH)
    assert ended.exit_code == 0
    assert git(remote, "rev-parse", ended.state.run.branch) == ended.state.head
    kinds = [recorded.event.kind for recorded in read_all_events(ended.directory.journal)]
    assert kinds[kinds.index("push.started") :] == [
        *("push.started", "push.finished", "pr.opening", "pr.opened", "run.ended"),
    ]


async def test_a_remote_branch_that_holds_something_else_needs_a_person_and_is_left_alone(
    bench: Bench, remote: Path
) -> None:
    theirs = git(bench.repository, "commit-tree", "-m", "theirs", "HEAD^{tree}")

    def take(event: object) -> None:
        git(bench.repository, "push", "-q", "origin", f"{theirs}:refs/heads/{event.branch}")  # type: ignore[attr-defined]

    ended = await bench.run(*one("a"), pr=PUSH, when=When("landing.finished", take))
    branch = ended.state.run.branch
    assert ended.exit_code == 6
    assert f"git push origin --delete {branch}" in str(ended.error)
    assert git(remote, "rev-parse", branch) == theirs
    git(remote, "update-ref", "-d", f"refs/heads/{branch}")
    resumed = await bench.resume(*one("a"))
    assert (resumed.exit_code, git(remote, "rev-parse", branch)) == (0, resumed.state.head)
    pushed = [one.event for one in read_all_events(resumed.directory.journal) if isinstance(one.event, PushFinished)]
    assert len(pushed) == 1


async def test_a_remote_that_does_not_exist_is_told_before_any_work(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="git remote add origin URL"):
        await bench.run(*one("a"), pr=PUSH)
