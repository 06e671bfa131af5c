"""What planners and workers are shown of the repository, in whole runs."""

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import SessionStarted
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import Bench, one, task
from tests.running.scripts import judges, planner_ends, plans, uses

pytestmark = pytest.mark.sandbox
MARK = "The repository as it is now"


def brief_of(ended: RunExit, role: str) -> str:
    """The first brief that a role got."""
    for recorded in read_all_events(ended.directory.journal):
        if isinstance(recorded.event, SessionStarted) and recorded.event.role == role:
            assert recorded.event.brief.sha is None
            return recorded.event.brief.head
    raise AssertionError(f"no {role} was asked")


async def test_a_planner_begins_with_a_map_within_its_budget_and_asks_for_more(bench: Bench) -> None:
    ended = await bench.run(
        uses("planner", "root", "map", path="calc.py"),
        uses("planner", "root", "tests", path="calc.py"),
        plans("root", {"key": "a"}),
        uses("worker", "a", "log", n=1),
        uses("worker", "a", "blame", path="calc.py", start=1, end=1),
        *task("a"),
        planner_ends(),
        judges(),
        map={"tokens": 150},
        plan={"beside_baseline": False},
    )
    assert ended.exit_code == 0
    brief = brief_of(ended, "planner")
    assert "def add(a, b):" in brief
    assert "test_calc.py (2): calc.py" in brief
    begin = brief.index("<map-")
    assert len(brief[begin : brief.index("</map-")].encode()) <= 3 * 150 + 40


async def test_without_a_budget_a_planner_has_no_map(bench: Bench) -> None:
    ended = await bench.run(*one("a"), map={"tokens": 0})
    assert MARK not in brief_of(ended, "planner")
