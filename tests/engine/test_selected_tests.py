"""A candidate is looked at by the tests that it concerns; nothing lands before the whole gate has run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import SELECTED_CHECK, Receipt
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.project.options import Options
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, status
from tests.running.projects import GATE_FLAGS, git, repository
from tests.running.scripts import judges, planner_is_done, plans, reviews, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]

NAMES = ("prices", "orders", "stock", "mail")
HIDDEN = "import importlib\n\n\ndef test_hidden():\n    assert importlib.import_module('pri' + 'ces').give(2) == 4\n"
PLAN = {
    "gate": GATE_FLAGS
    | {"command": "python -m pytest -q -p no:cacheprovider", "report": "auto", "mutants": 0, "repeats": False}
}


def build_module(body: str) -> str:
    return f"def give(number):\n    return {body}\n"


def build_test(name: str, number: int, expected: int, test: str = "give") -> str:
    return f"import {name}\n\n\ndef test_{name}_{test}():\n    assert {name}.give({number}) == {expected}\n"


@pytest.fixture
def shop(tmp_path: Path) -> Bench:
    """Four modules with tests of their own, and a test that reaches one of them where no import says so."""
    files = {".gitignore": "__pycache__/\n", "conftest.py": "", "test_hidden.py": HIDDEN}
    for name in NAMES:
        files |= {f"{name}.py": build_module("number * 2"), f"test_{name}.py": build_test(name, 0, 0)}
    return Bench(tmp_path, repository(tmp_path / "repository", files))


def list_runs(ended: RunExit, kind: str) -> list[Receipt]:
    return [receipt for receipt in ended.state.receipts.values() if receipt.kind == kind]


def change(task: str, files: Mapping[str, str]) -> list:
    return [*(writes(task, path, text) for path, text in files.items()), worker_ends(task)]


@pytest.mark.extended
async def test_a_change_is_looked_at_by_its_own_tests_and_lands_by_all(shop: Bench) -> None:
    files = {"orders.py": build_module("number * 3"), "test_orders_more.py": build_test("orders", 2, 6, "more")}
    ended = await shop.run(
        plans("root", {"key": "orders"}),
        *change("orders", files),
        reviews("orders"),
        *planner_is_done(),
        judges(),
        **PLAN,
    )
    assert (ended.exit_code, status(ended, "orders")) == (0, TaskStatus.MERGED)
    verdict = ended.state.tasks[TaskId("orders")].verdicts[0].verdict
    assert verdict.is_provisional
    selected = list_runs(ended, SELECTED_CHECK)
    assert selected
    assert all(receipt.counts.total <= 2 for receipt in selected)
    landed = git(shop.repository, "rev-parse", f"{ended.state.run.branch}^{{tree}}")
    whole = [receipt for receipt in list_runs(ended, "gate") if receipt.tree == landed]
    assert [(receipt.narrows, receipt.counts.total) for receipt in whole] == [(None, 6)]


async def run_hidden_break(shop: Bench) -> RunExit:
    """A worker breaks what only an unselected test sees, and mends it when it is sent back."""
    return await shop.run(
        plans("root", {"key": "prices"}),
        *change("prices", {"prices.py": build_module("number * 3 if number else 0")}),
        reviews("prices"),
        *change("prices", {"prices.py": build_module("number + number")}),
        reviews("prices"),
        *planner_is_done(),
        judges(),
        **PLAN,
    )


@pytest.mark.extended
async def test_a_break_that_only_an_unselected_test_sees_never_lands_and_goes_back_to_its_worker(shop: Bench) -> None:
    ended = await run_hidden_break(shop)
    task = ended.state.tasks[TaskId("prices")]
    assert (ended.exit_code, task.status) == (0, TaskStatus.MERGED)
    kinds = [(given.number, given.verdict.kind, given.verdict.is_provisional) for given in task.verdicts]
    assert kinds == [(1, "merge", True), (1, "revise", False), (2, "merge", True)]
    assert task.verdicts[1].verdict.cause == EndCause.RED_TESTS
    assert "test_hidden" in " ".join(task.verdicts[1].verdict.reasons)
    assert [attempt.mode for attempt in task.attempts] == ["fresh", "revise"]
    landed = git(shop.repository, "log", "--format=%H", f"{ended.state.run.base}..{ended.state.run.branch}").split()
    assert len(landed) == 1
    assert "number + number" in git(shop.repository, "show", f"{landed[0]}:prices.py")


@pytest.mark.extended
async def test_a_run_in_which_a_candidate_was_judged_twice_is_done_over_alike(shop: Bench) -> None:
    await run_hidden_break(shop)
    options = Options(shop.repository, {"state": {"dir": str(shop.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert report.is_same


@pytest.mark.extended
async def test_tests_of_a_change_that_bend_unselected_ones_keep_it_from_landing(shop: Bench) -> None:
    bending = "import prices\n\nprices.give = lambda number: number * 2\n\n\n"
    bending += "def test_bent():\n    assert prices.give(2) == 4\n"
    files = {"prices.py": build_module("number * 3 if number else 0"), "test_bending.py": bending}
    ended = await shop.run(
        plans("root", {"key": "prices"}),
        *change("prices", files),
        reviews("prices"),
        *planner_is_done(),
        **(PLAN | {"run": {"max_attempts": 1}, "gate": PLAN["gate"] | {"new_tests": "off"}}),
    )
    task = ended.state.tasks[TaskId("prices")]
    assert (ended.state.landings, task.status, task.cause) == ([], TaskStatus.REJECTED, EndCause.RED_TESTS)
    assert [(given.verdict.kind, given.verdict.is_provisional) for given in task.verdicts] == [
        ("merge", True),
        ("revise", False),
    ]
    reasons = " ".join(task.verdicts[-1].verdict.reasons)
    assert "test_hidden" in reasons
    assert "that is how the tests of the base judge the change" in reasons


@pytest.mark.extended
async def test_work_that_is_red_only_together_with_what_landed_still_clashes(shop: Bench) -> None:
    hidden = "import importlib\n\n\ndef test_sum():\n    names = ['pri' + 'ces', 'or' + 'ders']\n"
    hidden += "    assert sum(importlib.import_module(name).give(1) for name in names) < 6\n"
    git(shop.repository, "rm", "-q", "test_hidden.py")
    (shop.repository / "test_sum.py").write_text(hidden)
    git(shop.repository, "add", "-A")
    git(shop.repository, "commit", "-qm", "a test of two modules")
    ended = await shop.run(
        plans("root", {"key": "prices"}, {"key": "orders"}),
        *change("prices", {"prices.py": build_module("number * 3")}),
        reviews("prices"),
        *change("orders", {"orders.py": build_module("number * 3")}),
        reviews("orders"),
        *[worker_ends("prices"), worker_ends("orders")] * 4,
        *planner_is_done(),
        **PLAN,
    )
    (loser,) = [task for task in ended.state.tasks.values() if task.ejections]
    first = [given.verdict for given in loser.verdicts if given.number == 1]
    assert [(one.kind, one.is_provisional) for one in first] == [("merge", True), ("merge", False)]
    assert loser.attempts[1].mode == "rebase"
