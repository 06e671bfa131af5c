"""As many calls are under way as there are workers."""

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    ModelCalled,
    ModelReplied,
    SessionEnded,
    SessionStarted,
)
from orchestrator.domain.ids import parse_session_role
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


@pytest.mark.extended
async def test_thirty_two_workers_have_far_more_than_eight_calls_under_way(bench: Bench) -> None:
    names = [f"t{number}" for number in range(WORKERS)]
    slow = [worker_ends(name).model_copy(update={"delay_s": 4.0}) for name in names]
    run = {"max_workers": WORKERS, "max_attempts": 1}
    plan = {"max_children": WORKERS}
    ended = await bench.run(
        plans("root", *({"key": name} for name in names)), *slow, *planner_is_done(), run=run, plan=plan
    )
    assert find_most_calls(ended) > WORKERS // 2, "all of them, on a machine that opens workspaces in time"


@pytest.mark.extended
async def test_the_next_workspace_is_made_ready_while_every_worker_is_at_work(bench: Bench) -> None:
    names = [f"t{number}" for number in range(12)]
    slow = [worker_ends(name).model_copy(update={"delay_s": 2.0}) for name in names]
    ended = await bench.run(
        plans("root", *({"key": name} for name in names)),
        *slow,
        *planner_is_done(),
        run={"max_workers": 8, "max_attempts": 1},
        plan={"max_children": 12},
    )
    workers = attempts = most_workers = most_attempts = 0
    for recorded in read_all_events(ended.directory.journal):
        match recorded.event:
            case SessionStarted(session=session) if parse_session_role(session) == "worker":
                workers += 1
            case SessionEnded(session=session) if parse_session_role(session) == "worker":
                workers -= 1
            case AttemptStarted():
                attempts += 1
            case AttemptEnded():
                attempts -= 1
        most_workers, most_attempts = max(most_workers, workers), max(most_attempts, attempts)
    assert most_workers <= 8
    assert most_attempts > 8
