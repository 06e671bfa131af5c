"""Gates of every kind, each on a green and on a red base: the honest lands, what breaks or removes a test is red."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.gates import GREEN, KINDS, NODE_JUNIT, PYTEST, RED, TAPE, Kind
from tests.running.goals import Bench, status
from tests.running.projects import git, repository
from tests.running.scripts import judges, planner_is_done, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]

BREAKS, REMOVES, HONEST, MENDS = "breaks", "removes", "honest", "mends"


def by_name(kind: object) -> str:
    return kind.name if isinstance(kind, Kind) else "red" if "odd" in kind else "green"


def bench(place: Path, kind: Kind, base: Mapping[str, str]) -> Bench:
    ignored = {".gitignore": "__pycache__/\nnode_modules/\n"}
    return Bench(place, repository(place / "repo", {kind.source: kind.operations(base), **kind.files, **ignored}))


def work(kind: Kind, base: Mapping[str, str]) -> dict[str, list[ScriptedReply]]:
    """What each worker does, in the order in which they begin."""
    without = {name: body for name, body in base.items() if name != "double"}
    removal = writes(REMOVES, kind.source, kind.operations(without))
    if not kind.test_id:  # where nothing tells of single tests, the tests as a whole can be removed
        removal = uses("worker", REMOVES, "shell", command=f"rm {' '.join(kind.files)} && git status")
    return {
        BREAKS: [writes(BREAKS, kind.source, kind.operations(dict(base) | {"add": "a - b"}))],
        REMOVES: [removal],
        HONEST: [writes(HONEST, kind.source, kind.operations(dict(base) | {"add": "b + a"}))],
    }


async def play(bench: Bench, kind: Kind, tasks: Mapping[str, list[ScriptedReply]], command: str = "") -> RunExit:
    """One try at each task, one after the other, with a reviewer who lets everything through."""
    done = [item for name, items in tasks.items() for item in (*items, worker_ends(name), reviews(name))]
    return await bench.run(
        plans("root", *({"key": name} for name in tasks)),
        *done,
        *planner_is_done(),
        judges(),
        gate={"command": command or kind.command, "report": kind.report, "reruns": 0},
        run={"max_attempts": 1, "max_workers": 1},
        approval={"red_gate": "go-on"},
        hands={"read_only": [sys.prefix]},
    )


def told(ended: RunExit, name: str) -> str:
    return "\n".join(ended.state.tasks[TaskId(name)].verdicts[-1].verdict.reasons)


def tree_that_landed(ended: RunExit) -> str:
    receipts = [one for one in ended.state.receipts.values() if one.tree == ended.state.landings[-1].tree]
    assert receipts, "what landed was tested"
    return receipts[-1].tree


def require(kind: Kind, place: Path) -> None:
    """Skip where this machine lacks the kind's runner, or a reporter of its."""
    if kind.needs and shutil.which(kind.needs) is None:
        pytest.skip(f"{kind.needs} is not installed (make node)")
    if kind.reporter:
        (place / "empty.test.js").write_text("")
        words = ["node", "--test", f"--test-reporter={kind.reporter}", "empty.test.js"]
        if subprocess.run(words, cwd=place, capture_output=True, check=False).returncode:
            pytest.skip(f"this version of node cannot report tests as {kind.reporter}")


def install_tape(place: Path) -> None:
    """Skip without a registry to install from."""
    words = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "tape@5"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False, timeout=200)
    if done.returncode:
        pytest.skip(f"needs an npm registry: {done.stderr[-300:]}")


@pytest.mark.parametrize("base", [GREEN, RED], ids=by_name)
@pytest.mark.parametrize("kind", KINDS, ids=by_name)
async def test_every_kind_of_gate_judges_by_what_it_can_tell(
    tmp_path: Path, kind: Kind, base: Mapping[str, str]
) -> None:
    require(kind, tmp_path)
    tasks = work(kind, base)
    is_silent_red = not kind.test_id and base is RED
    if is_silent_red:
        tasks[MENDS] = [writes(MENDS, kind.source, kind.operations(dict(base) | {"odd": "a + 1"}))]
    ended = await play(bench(tmp_path, kind, base), kind, tasks)
    lands = MENDS if is_silent_red else HONEST
    assert {name: status(ended, name) for name in tasks} == {
        name: "merged" if name == lands else "rejected" for name in tasks
    }
    assert ended.state.landings[-1].units == (f"{lands}@1",)
    assert tree_that_landed(ended) == git(tmp_path / "repo", "rev-parse", f"{ended.state.run.branch}^{{tree}}")
    if kind.test_id:
        assert f"did not on the base (1): {kind.test_id.format('add')}" in told(ended, BREAKS)
        assert f"are missing now (1): {kind.test_id.format('double')}" in told(ended, REMOVES)
        (baseline,) = ended.state.get_baseline_receipts().values()
        assert (baseline.counts.passed, baseline.counts.failed) == (2, len(base) - 2)
    else:
        why = "the gate was red on the base already and tells no tests" if is_silent_red else "only 0 counts"
        assert f"exits with 1; {why}" in told(ended, BREAKS)
        assert "test_ops.py" in told(ended, REMOVES)


async def test_a_silent_gate_that_was_red_before_is_told_of_loudly_and_what_leaves_it_red_is_not_let_through(
    tmp_path: Path,
) -> None:
    kind = KINDS[-1]
    ended = await play(bench(tmp_path, kind, RED), kind, {HONEST: work(kind, RED)[HONEST]})
    assert status(ended, HONEST) == "rejected"
    assert "so only exit 0 counts" in told(ended, HONEST)
    (notice,) = ended.state.notices
    assert (notice.level, "the gate was red before anything changed" in notice.text) == ("warning", True)


async def test_a_runner_that_stops_at_the_first_red_test_of_the_base_is_told_of_and_what_it_skips_then_is_missing(
    tmp_path: Path,
) -> None:
    base = {"add": "a + b", "double": "a", "odd": "a + 1"}
    tasks = work(PYTEST, base)
    del tasks[REMOVES]
    ended = await play(bench(tmp_path, PYTEST, base), PYTEST, tasks, f"{PYTEST.command} -x")
    (notice,) = ended.state.notices
    assert "a loss may go unseen: pytest ended before all tests had run (stopping after 1 failures)" in notice.text
    assert (status(ended, BREAKS), status(ended, HONEST)) == ("rejected", "merged")
    assert "did not on the base (1): test_ops::test_operation[add]" in told(ended, BREAKS)
    assert "are missing now (1): test_ops::test_operation[double]" in told(ended, BREAKS)
    assert "pytest ended before all tests had run" in told(ended, BREAKS)


async def test_the_junit_reporter_of_node_judges_as_well(tmp_path: Path) -> None:
    require(NODE_JUNIT, tmp_path)
    ended = await play(
        bench(tmp_path, NODE_JUNIT, RED),
        NODE_JUNIT,
        work(NODE_JUNIT, RED),
    )
    assert [status(ended, name) for name in (BREAKS, REMOVES, HONEST)] == ["rejected", "rejected", "merged"]
    assert NODE_JUNIT.test_id.format("add") in told(ended, BREAKS)
    assert NODE_JUNIT.test_id.format("double") in told(ended, REMOVES)


@pytest.mark.extended
@pytest.mark.registry
@pytest.mark.parametrize("base", [GREEN, RED], ids=by_name)
async def test_tape_itself_judges(tmp_path: Path, base: Mapping[str, str]) -> None:
    kind = Kind(
        "tape", "node test.js", "tap", {"test.js": TAPE, "package.json": '{"private": true}\n'},
        "{} > gives what is known", "ops.js", "npm",
    )  # fmt: skip
    require(kind, tmp_path)
    place = bench(tmp_path, kind, base)
    install_tape(place.repository)
    ended = await play(place, kind, work(kind, base))
    assert [status(ended, name) for name in (BREAKS, REMOVES, HONEST)] == ["rejected", "rejected", "merged"]
    assert f"did not on the base (1): {kind.test_id.format('add')}" in told(ended, BREAKS)
    assert f"are missing now (1): {kind.test_id.format('double')}" in told(ended, REMOVES)
