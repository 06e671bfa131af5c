"""Runs that are gone on with after something unusual happened between two engines."""

import pytest

from orchestrator.domain.event.landing import LandingStarted
from orchestrator.domain.ids import CommitId, TaskId, TreeId
from orchestrator.domain.state import unit_id
from orchestrator.journal.journal import Journal, SystemClock
from tests.running.goals import TWO, Bench

pytestmark = pytest.mark.sandbox


async def test_a_landing_that_never_happened_and_whose_commit_git_pruned_is_made_again(bench: Bench) -> None:
    ended = await bench.run(*TWO, budget={"calls": 5})
    journal = Journal(ended.directory.path, SystemClock())
    pruned = LandingStarted(
        key=f"landing/{'1' * 40}/1",
        branch=ended.state.run.branch,
        old=ended.state.head,
        new=CommitId("1" * 40),
        tree=TreeId("2" * 40),
        units=(unit_id(TaskId("b"), 1),),
    )
    await journal.append(pruned)
    journal.close()
    again = await bench.resume(*TWO, budget={"calls": 50})
    assert (again.exit_code, again.state.open_intents) == (0, {}), again.error
