"""A run takes over what an earlier one has tested: the very same check, tree and environment, and nothing red."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.run import CheckFinished, CheckReused
from orchestrator.domain.judging.check import CANARY_CHECK
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, one, task
from tests.running.projects import GATE_FLAGS, git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends

pytestmark = pytest.mark.sandbox

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
GOOD, BROKEN = "    return a + b\n", "    return a - b\n"
MENDED: Sequence[ScriptedReply] = [
    plans("root", {"key": "sum"}),
    *(edits("sum", "calc.py", GOOD, BROKEN), worker_ends("sum")),
    *(edits("sum", "calc.py", BROKEN, "    return b + a\n"), worker_ends("sum"), reviews("sum")),
    *(planner_ends(), judges()),
]
"""A task whose first change is red."""


def reused(ended: RunExit) -> list[CheckReused]:
    events = (recorded.event for recorded in read_all_events(ended.directory.journal))
    return [event for event in events if isinstance(event, CheckReused)]


def run_here(ended: RunExit) -> list[CheckFinished]:
    events = (recorded.event for recorded in read_all_events(ended.directory.journal))
    return [event for event in events if isinstance(event, CheckFinished)]


async def test_a_second_run_on_the_same_base_tests_neither_the_base_nor_a_tree_that_was_green(bench: Bench) -> None:
    first = await bench.run(*one("a"))
    second = await bench.run(*one("a"))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert (reused(first), run_here(second)) == ([], [])
    baseline = second.state.receipts[second.state.baseline[0]]
    assert baseline.origin is not None
    assert (baseline.origin.run, baseline.origin.key) == (first.state.run.run, first.state.baseline[0])
    before = first.state.receipts[first.state.baseline[0]]
    assert (baseline.counts, baseline.tests, baseline.trace) == (before.counts, before.tests, before.trace)
    assert second.state.test_runs == 0
    result = build_run_result(second.state, second.directory.journal)
    assert result.receipts_taken_over == len(second.state.receipts) == len(reused(second)) > 1
    assert f"0 test runs and {result.receipts_taken_over} taken over from earlier runs" in "\n".join(
        render_summary_lines(second.state)
    )


async def test_what_landed_is_a_base_that_the_next_run_need_not_test(bench: Bench) -> None:
    first = await bench.run(*one("a"))
    git(bench.repository, "merge", "-q", first.state.run.branch)
    second = await bench.run(*one("b"))
    assert second.exit_code == 0, second.error
    baseline = second.state.receipts[second.state.baseline[0]]
    assert baseline.origin is not None
    assert baseline.origin.run == first.state.run.run
    assert second.state.test_runs > 0, "its own change is new"


async def test_a_red_tree_is_tested_again(bench: Bench) -> None:
    first = await bench.run(*MENDED)
    second = await bench.run(*MENDED)
    assert (first.exit_code, second.exit_code) == (0, 0)
    red = {receipt.tree for receipt in first.state.receipts.values() if receipt.exit_code}
    assert red
    assert {event.receipt.tree for event in run_here(second)} == red
    assert not red & {event.receipt.tree for event in reused(second)}


@pytest.mark.parametrize("gate", [{"reuse_days": 0}, {"timeout_s": 1799}])
async def test_another_check_or_none_to_be_taken_is_run(bench: Bench, gate: dict[str, object]) -> None:
    await bench.run(*one("a"))
    second = await bench.run(*one("a"), gate={**GATE_FLAGS, **gate})
    assert second.exit_code == 0
    assert reused(second) == []
    assert second.state.test_runs > 1


@pytest.mark.extended
async def test_a_damaged_store_costs_only_the_runs(bench: Bench) -> None:
    await bench.run(*one("a"))
    files = list((bench.root / "state").glob("*/receipts/*"))
    assert files
    for number, file in enumerate(files):
        file.write_bytes(b"" if number % 2 else file.read_bytes()[:99])
    second = await bench.run(*one("a"))
    assert second.exit_code == 0
    assert reused(second) == []
    third = await bench.run(*one("a"))
    assert run_here(third) == []


@pytest.mark.extended
async def test_a_run_that_took_over_its_receipts_lands_what_is_new_and_no_earlier_journal_is_needed(
    bench: Bench,
) -> None:
    first = await bench.run(*one("a"))
    first.directory.path.rename(bench.root / "gone")
    both = [plans("root", {"key": "a"}, {"key": "b"}), *task("a"), *task("b"), planner_ends(), judges()]
    second = await bench.run(*both)
    assert second.exit_code == 0, second.error
    assert reused(second)
    assert {task.status.value for task in second.state.tasks.values() if task.spec.kind == "leaf"} == {"merged"}


@pytest.mark.extended
async def test_guards_and_canaries_of_pytest_come_along(bench: Bench) -> None:
    (bench.repository / "test_more.py").write_text(
        "from calc import add\n\n\ndef test_more():\n    assert add(1, 1) == 2\n"
    )
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "more")
    gate = {"command": PYTEST, "report": "auto", "reruns": 1, "repeats": False, "mutants": 0}
    flags: dict[str, Any] = {"gate": gate, "hands": {"read_only": [sys.prefix]}}
    first = await bench.run(*one("a"), **flags)
    second = await bench.run(*one("a"), **flags)
    assert (first.exit_code, second.exit_code) == (0, 0), (first.error, second.error)
    baseline = second.state.receipts[second.state.baseline[0]]
    assert baseline.origin is not None
    assert baseline.trace == first.state.receipts[first.state.baseline[0]].trace
    assert {event.receipt.kind for event in run_here(second)} <= {CANARY_CHECK}
    git(bench.repository, "merge", "-q", first.state.run.branch)
    third = await bench.run(*one("b"), **flags)
    assert third.exit_code == 0, third.error
    assert third.state.receipts[third.state.baseline[0]].origin is not None


@pytest.mark.extended
async def test_a_replay_of_a_run_that_took_over_its_receipts_runs_the_checks_and_is_the_same(bench: Bench) -> None:
    await bench.run(*one("a"))
    second = await bench.run(*one("a"))
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, second.state.run.run, ReplayOptions())
    assert report.divergences == ()
    assert (report.is_same, report.replayed_outcome) == (True, "done")


@pytest.mark.extended
async def test_a_tree_that_passed_and_failed_is_tested_again(bench: Bench) -> None:
    test = "class T(unittest.TestCase):\n    def test_it(self):\n        assert os.urandom(1)[0] % 2\n"
    flaky = f"import os, unittest\n{test}"
    (bench.repository / "test_flaky.py").write_text(flaky)
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "flaky")
    first = await bench.run(*one("a"), gate={**GATE_FLAGS, "reruns": 40})
    by_tree: dict[str, set[int | None]] = {}
    for receipt in first.state.receipts.values():
        by_tree.setdefault(receipt.tree, set()).add(receipt.exit_code)
    second = await bench.run(*one("a"), gate={**GATE_FLAGS, "reruns": 40})
    base = second.state.run.base_tree
    taken = {event.receipt.tree for event in reused(second)} - {base}
    assert all(by_tree[tree] == {0} for tree in taken)


async def test_a_run_without_a_sandbox_neither_takes_nor_leaves_any(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # it refuses such a run
    for parent in (bench.root, *bench.root.parents):
        if parent.stat().st_uid == os.geteuid() == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)  # commands run as another user then
    unsafe = {"without_sandbox": True}
    first = await bench.run(*one("a"), hands=unsafe)
    assert first.exit_code == 0, first.error
    assert list((bench.root / "state").glob("*/receipts/*")) == []
    await bench.run(*one("a"))
    third = await bench.run(*one("a"), hands=unsafe)
    assert (third.exit_code, reused(third)) == (0, [])
