"""Forgeries that every rule about files and code was told to let pass: what the guard of the test run says of them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.run_trace import RunTrace
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.journal.storage.blobs import BlobStore
from tests.running.changes import project_of
from tests.running.goals import Bench
from tests.running.scripts import judges, planner_is_done, plans, reviews, worker_ends, writes

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
    "011_leaves_at_exit": "exits with 0 although pytest ended with an error",
    "012_patched_reports": "the one that must fail by `assert` passed",
    "013_forged_report": "without having come to its end, before any test began",
    "073_hook_found_in_memory": "the one that must fail by `assert` passed",
}
"""Which are green for a gate that is not guarded, and what gives them away."""


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
        return await bench(tmp_path_factory.mktemp("canaries")).run(plan, *items, *planner_is_done(), **flags())

    return anyio.run(run)


def guards(ended: RunExit) -> list[tuple[str, RunTrace]]:
    """Return the tree of each receipt of the gate with its trace, the base's first."""
    found = []
    for receipt in ended.state.receipts.values():
        if receipt.kind == "gate" and receipt.trace is not None:
            text = BlobStore(ended.directory.blobs).read_blob(receipt.trace)
            found.append((receipt.tree, RunTrace.model_validate_json(text)))
    return found


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_that_everything_else_lets_pass_is_red(forged: RunExit, name: str) -> None:
    task = forged.state.tasks[TaskId(key(name))]
    verdict = task.verdicts[-1].verdict
    assert task.status == TaskStatus.REJECTED
    assert FORGERIES[name] in " ".join(verdict.reasons)
    assert {forged.state.receipts[one].kind for one in verdict.receipts} == {"gate"}


def test_nothing_that_was_drawn_for_a_guard_is_kept_and_nothing_that_it_ran_is_counted(forged: RunExit) -> None:
    reader = JournalSessionReader(forged.directory)
    for receipt in forged.state.receipts.values():
        words = anyio.run(reader.read_text, receipt.output)
        assert not re.search(r"\b[a-z]+_[a-z]+\d{2,6}\b|\btest_[a-z]+_[a-z]+_[a-z]+_\d+\b", words), words
    first = next(receipt for receipt in forged.state.receipts.values() if receipt.tree == forged.state.run.base_tree)
    outcomes = json.loads(BlobStore(forged.directory.blobs).read_blob(first.tests or ""))
    assert len(outcomes) == first.counts.total == 3
    assert [guard.canaries > 10 for guard in guards(forged)[0][1].guards] == [True]


async def honest(place: Path, settings: dict[str, Any]) -> RunExit:
    made = [writes("mend", path, text) for path, text in changed("001_honest_fix").items()]
    return await bench(place).run(
        plans("root", {"key": "mend"}),
        *made,
        worker_ends("mend"),
        reviews("mend"),
        *planner_is_done(),
        judges(),
        **settings,
    )


async def test_a_guard_lives_under_a_shell_that_quotes_xdist_and_an_exit_code_of_the_projects_own(
    tmp_path: Path,
) -> None:
    ended = await honest(tmp_path, flags(f"""sh -c '{PYTEST} -x -n "1"' || exit 2"""))
    assert ended.exit_code == 0
    assert [len(trace.guards) for _, trace in guards(ended)] == [1] * len(guards(ended))
    assert not [notice for notice in ended.state.notices if "canar" in notice.text]


async def test_a_gate_that_cannot_load_the_guard_runs_without_and_says_so(tmp_path: Path) -> None:
    ended = await honest(tmp_path, flags(f"PYTHONPATH=. {PYTEST}"))
    assert ended.exit_code == 0
    traces = [trace for tree, trace in guards(ended) if tree != ended.state.run.base_tree]
    assert traces
    assert all("could not load the guard" in trace.unguarded for trace in traces)
    flags_told = ended.state.tasks[TaskId("mend")].verdicts[-1].verdict.flags
    assert any("not guarded" in flag for flag in flags_told)


async def test_canaries_can_be_switched_off(tmp_path: Path) -> None:
    ended = await honest(tmp_path, flags(canaries=False))
    assert (ended.exit_code, ended.state.notices) == (0, ())
    assert {guard.canaries for _, trace in guards(ended) for guard in trace.guards} == {0}
