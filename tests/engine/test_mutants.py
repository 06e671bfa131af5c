"""Places of a green change are altered one at a time: reviewers are told what no test notices, and nothing else."""

import sys
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import MUTANTS_CHECK, Receipt
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.judge.mutation import runner
from orchestrator.report.task.details import render_task_details
from tests.running.goals import Bench, status
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(240)]

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
TESTS = """import cart


def test_a_large_order_is_cheaper():
    assert cart.get_discount(200) == 20


def test_a_small_order_is_not():
    assert cart.get_discount(1) == 0
"""
BEFORE = "def get_discount(total):\n    return 20 if total > 100 else 0\n"
AFTER = """def get_discount(total):
    if total > 100:
        return total - 180
    return 0
"""


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else starts pytest slowly."""
    monkeypatch.setattr(runner, "LEAST_SECONDS", 60.0)


FLAGS: dict[str, Any] = {
    "gate": {"command": PYTEST, "report": "auto", "canaries": False, "repeats": False, "mutants": 2},
    "hands": {"read_only": [sys.prefix]},
}


def write_project(bench: Bench) -> None:
    (bench.repository / "cart.py").write_text(BEFORE)
    (bench.repository / "test_cart.py").write_text(TESTS)
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "cart")


def list_mutant_receipts(ended: RunExit) -> list[Receipt]:
    return [receipt for receipt in ended.state.receipts.values() if receipt.kind == MUTANTS_CHECK]


def tell_reviewers(bench: Bench) -> str:
    """Return the briefs that the reviewers of a run were shown."""
    (journal,) = bench.root.glob("state/*/runs/*/journal.db")
    events = [recorded.event for recorded in read_all_events(journal)]
    return "".join(one.brief.head for one in events if isinstance(one, SessionStarted) and one.role == "judge")


async def test_what_no_test_notices_is_told_to_reviewers_and_what_one_notices_is_not(bench: Bench) -> None:
    write_project(bench)
    work = [writes("a", "cart.py", AFTER), worker_ends("a"), reviews("a")]
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), judges(), **FLAGS)
    assert status(ended, "a") == TaskStatus.MERGED, ended
    (receipt,) = list_mutant_receipts(ended)
    given = ended.state.tasks[TaskId("a")].verdicts[-1].verdict
    assert (receipt.counts.passed, receipt.counts.failed, receipt.problem) == (1, 1, "")
    found = "`>` became `>=` at cart.py:2 and no test that reaches the file noticed"
    assert found in given.flags
    assert "`-` became `+`" not in "".join(given.flags), "a test notices that"
    assert found in tell_reviewers(bench)
    shown = "\n".join(render_task_details(ended.state, ended.state.tasks[TaskId("a")], lambda _: b""))
    assert "with one place of the change altered at a time" in shown


@pytest.mark.extended
async def test_a_resumed_run_finds_the_receipt_of_its_mutants(bench: Bench) -> None:
    write_project(bench)
    work = [writes("a", "cart.py", AFTER), worker_ends("a")]
    first = await bench.run(plans("root", {"key": "a"}), *work, **FLAGS)  # nobody reviews
    assert len(list_mutant_receipts(first)) == 1
    ended = await bench.resume(reviews("a"), planner_ends(), judges(), **FLAGS)
    assert (status(ended, "a"), len(list_mutant_receipts(ended))) == (TaskStatus.MERGED, 1)
