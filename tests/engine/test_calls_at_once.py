"""As many calls are under way as there are workers."""

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import ModelCalled, ModelReplied
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import Bench
from tests.running.scripts import planner_is_done, plans, worker_ends

pytestmark = pytest.mark.sandbox
WORKERS = 32


def find_most_calls(ended: RunExit) -> int:
    """Return the largest number of workers' calls that were under way at one time."""
    now = most = 0
    for recorded in read_all_events(ended.directory.journal):
        match recorded.event:
            case ModelCalled(role="worker"):
                now += 1
            case ModelReplied(role="worker"):
                now -= 1
        most = max(most, now)
    return most


async def test_thirty_two_workers_have_far_more_than_eight_calls_under_way(bench: Bench) -> None:
    names = [f"t{number}" for number in range(WORKERS)]
    slow = [worker_ends(name).model_copy(update={"delay_s": 4.0}) for name in names]
    run = {"max_workers": WORKERS, "max_attempts": 1}
    plan = {"max_children": WORKERS}
    ended = await bench.run(
        plans("root", *({"key": name} for name in names)), *slow, *planner_is_done(), run=run, plan=plan
    )
    assert find_most_calls(ended) > WORKERS // 2, "all of them, on a machine that opens workspaces in time"
