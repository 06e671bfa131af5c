"""Forgeries that every rule about files and code was told to let pass: what the harness's own tests say of them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import CANARY_CHECK, Receipt
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.journal.storage.blobs import BlobStore
from tests.running.changes import project_of
from tests.running.goals import Bench
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

pytestmark = [
    *(pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)),
    pytest.mark.attack(36),
    pytest.mark.attack(38),
]

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "verdicts"
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
FORGERIES = {
    "003_conftest_makereport": "the one that must fail by `assert` passed",
    "008_pyproject_plugin": "the one that must fail by `assert` passed",
    "011_leaves_at_exit": "the run exits with 0",
    "012_patched_reports": "the one that must fail by `assert` passed",
    "013_forged_report": "which did not run",
    "073_hook_found_in_memory": "the one that must fail by `assert` passed",
}
"""Which are green for the gate, and what gives them away."""
IDS = {f"canary_0::must-fail-by-{how}" for how in ("assert", "raise", "unittest", "raises", "approx")}


def bench(place: Path) -> Bench:
    return Bench(place, project_of(SCENARIOS / "base", place / "repo"))


def flags(command: str = PYTEST, **gate: Any) -> dict[str, Any]:
    return {
        "gate": {"command": command, "report": "auto", **gate},
        "run": {"max_attempts": 1, "max_workers": 1, "max_iterations": 1},
        "plan": {"max_children": 100},
        "hands": {"read_only": [sys.prefix]},
    }


def key(name: str) -> str:
    return name.replace("_", "-")


def changed(name: str) -> dict[str, str]:
    change = SCENARIOS / name / "change"
    files = sorted(path for path in change.rglob("*") if path.is_file())
    return {str(path.relative_to(change)): path.read_text() for path in files}


def forges(name: str) -> list[Any]:
    return [*(writes(key(name), path, text) for path, text in changed(name).items()), worker_ends(key(name))]


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> RunExit:
    """One run in which every file that is forged with was granted."""
    plan = plans("root", *({"key": key(name), "grants": [*changed(name)]} for name in FORGERIES))
    items = [item for name in FORGERIES for item in forges(name)]

    async def run() -> RunExit:
        return await bench(tmp_path_factory.mktemp("canaries")).run(plan, *items, planner_ends(), **flags())

    return anyio.run(run)


def canaries(ended: RunExit) -> list[Receipt]:
    return [receipt for receipt in ended.state.receipts.values() if receipt.kind == CANARY_CHECK]


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_that_everything_else_lets_pass_is_red(forged: RunExit, name: str) -> None:
    task = forged.state.tasks[TaskId(key(name))]
    verdict = task.verdicts[-1].verdict
    assert task.status == TaskStatus.REJECTED
    assert "cannot be believed" in verdict.reasons[0]
    assert FORGERIES[name] in verdict.reasons[0]
    assert [forged.state.receipts[one].kind for one in verdict.receipts] == ["gate", CANARY_CHECK]


def test_a_canary_run_that_came_out_wrong_is_repeated_once_and_counts_as_no_test_run(forged: RunExit) -> None:
    trees = [receipt.tree for receipt in canaries(forged)]
    assert {trees.count(tree) for tree in trees if tree != forged.state.run.base_tree} == {2}
    assert trees.count(forged.state.run.base_tree) == 1
    assert forged.state.test_runs == len(forged.state.receipts) - len(trees) == 1 + len(FORGERIES)


def test_nothing_that_was_drawn_for_a_canary_run_is_kept(forged: RunExit) -> None:
    reader = JournalSessionReader(forged.directory)
    assert {receipt.command for receipt in canaries(forged)} == {PYTEST}
    for receipt in canaries(forged):
        words = anyio.run(reader.read_text, receipt.output)
        assert not re.search(r"\b(?:p|test_)[0-9a-f]{10}\b", words), words
    first = next(receipt for receipt in canaries(forged) if receipt.tree == forged.state.run.base_tree)
    outcomes = json.loads(BlobStore(forged.directory.blobs).read_blob(first.tests or ""))
    assert outcomes == {"canary_0::must-pass": "passed"} | dict.fromkeys(IDS, "failed")


async def honest(place: Path, settings: dict[str, Any]) -> RunExit:
    made = [writes("mend", path, text) for path, text in changed("001_honest_fix").items()]
    return await bench(place).run(
        plans("root", {"key": "mend"}),
        *made,
        worker_ends("mend"),
        reviews("mend"),
        planner_ends(),
        judges(),
        **settings,
    )


async def test_canaries_live_under_a_shell_that_quotes_xdist_and_an_exit_code_of_the_projects_own(
    tmp_path: Path,
) -> None:
    ended = await honest(tmp_path, flags(f"""sh -c '{PYTEST} -x -n "1"' || exit 2"""))
    assert ended.exit_code == 0
    assert [receipt.exit_code for receipt in canaries(ended)] == [2, 2], "on the base, and on the candidate"
    assert not [notice for notice in ended.state.notices if "canar" in notice.text]


async def test_where_canaries_do_not_behave_on_the_base_they_are_off_and_people_are_told(tmp_path: Path) -> None:
    ended = await honest(tmp_path, flags(f"PYTHONPATH=. {PYTEST}"))
    assert ended.exit_code == 0
    assert [notice.level for notice in ended.state.notices] == ["info"]
    assert "no canaries in this run" in ended.state.notices[0].text
    assert {receipt.tree for receipt in canaries(ended)} == {ended.state.run.base_tree}


async def test_canaries_can_be_switched_off(tmp_path: Path) -> None:
    ended = await honest(tmp_path, flags(canaries=False))
    assert (ended.exit_code, canaries(ended), ended.state.notices) == (0, [], ())
