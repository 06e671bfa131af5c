"""Verifiers asked through the real litellm: a blind one catches what tests let pass, a hostile one blocks nobody."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.loopback.judges import approves_everything
from tests.loopback.play import task_of, text_of
from tests.loopback.server import LoopbackServer
from tests.loopback.verifiers import HOSTILE, does_harm, works_in_a_muddle
from tests.running.goals import Bench
from tests.running.planted import PLANTED
from tests.running.projects import GATE_FLAGS, calculator
from tests.running.scripts import edits, planner_is_done, plans, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1800)]

Answer = Callable[[dict[str, Any]], ScriptedReply]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


def obliges(body: dict[str, Any]) -> ScriptedReply:
    """A judge that approves every change, and drops every test that a worker contests."""
    if "The contested test" in text_of(body["messages"][1]):
        return uses("judge", task_of(body["messages"]), "submit_verdict", decision="drop", reasons=["if you say so"])
    return approves_everything(body)


async def verified_by(
    bench: Bench, verifier: Answer, items: Sequence[ScriptedReply], attempts: int = 1
) -> tuple[RunExit, LoopbackServer]:
    """A run with this verifier and the obliging judge behind HTTP; planner and workers play a script."""
    server = LoopbackServer((), answering={"judge": obliges, "verifier": verifier})
    script = {"model": write_script(bench.root / "script.json", items)}
    async with server.run() as url:
        asked = {"model": "openai/verifier", "api_base": url, "when": "always", "tests_timeout_s": 5, "max_turns": 8}
        judge = {"model": "openai/judge", "api_base": url}
        values = {
            "gate": GATE_FLAGS,
            "roles": {"planner": script, "worker": script, "judge": judge, "verifier": asked},
            "plan": {"max_children": 100},
            "run": {"max_attempts": attempts},
            "state": {"dir": str(bench.root / "state")},
        }
        return await run_goal(Options(bench.repository, values), "make it better"), server


def changes(is_right: bool) -> list[ScriptedReply]:
    """Every task is carried out with a test of its own, which passes in any case."""
    items = [plans("root", *({"key": planted.name, "outcome": planted.outcome} for planted in PLANTED))]
    for planted in PLANTED:
        items.append(writes(planted.name, f"{planted.name}.py", planted.code(is_right)))
        items.append(writes(planted.name, f"test_{planted.name}.py", planted.test(planted.own, "OwnTest")))
        items.append(worker_ends(planted.name, "all done, all green"))
    return [*items, *planner_is_done()]


async def test_a_blind_verifier_catches_ten_wrong_changes_that_the_tests_let_pass(bench: Bench) -> None:
    ended, server = await verified_by(bench, works_in_a_muddle, changes(is_right=False))
    tasks = {planted.name: ended.state.tasks[TaskId(planted.name)] for planted in PLANTED}
    assert {name: (task.status, task.cause) for name, task in tasks.items()} == dict.fromkeys(
        tasks, (TaskStatus.REJECTED, EndCause.REFUSED_BY_VERIFIER)
    )
    assert ended.state.landings == []
    for name, task in tasks.items():
        verdict = task.verdicts[-1].verdict
        assert verdict.verifier_failures == (f"test_{name}_blind.BlindTest.test_it",)
        assert "Error" in "\n".join(verdict.reasons)
    asked = [text for body in server.bodies if body["model"] == "verifier" for text in map(text_of, body["messages"])]
    assert asked and not any("all done, all green" in text or "OwnTest" in text for text in asked)


async def test_the_same_verifier_lets_the_ten_right_changes_land(bench: Bench) -> None:
    ended, _ = await verified_by(bench, works_in_a_muddle, changes(is_right=True))
    statuses = {planted.name: ended.state.tasks[TaskId(planted.name)].status for planted in PLANTED}
    assert statuses == dict.fromkeys(statuses, TaskStatus.MERGED)


async def test_a_hostile_verifier_blocks_no_honest_task_for_good_and_lands_no_wrong_one(bench: Bench) -> None:
    drafts, items = [], []
    for name in HOSTILE:
        honest, wrong = f"{name}-1", f"{name}-2"
        drafts += [{"key": honest}, {"key": wrong}]
        contests = uses("worker", honest, "contest_test", test="test_blind", why="nothing can pass it")
        items += [writes(honest, f"{name}.txt", "done\n"), worker_ends(honest), contests, worker_ends(honest)]
        items += [edits(wrong, "calc.py", "a + b", "a - b"), worker_ends(wrong), worker_ends(wrong)]
    ended, _ = await verified_by(bench, does_harm, [plans("root", *drafts), *items, *planner_is_done()], attempts=2)
    statuses = {name: task.status for name, task in ended.state.tasks.items() if name != "root"}
    assert statuses == {
        **{TaskId(f"{name}-1"): TaskStatus.MERGED for name in HOSTILE},
        **{TaskId(f"{name}-2"): TaskStatus.REJECTED for name in HOSTILE},
    }
    contested = {name for name, task in ended.state.tasks.items() if task.verification and task.verification.contests}
    assert contested == {"always-red-1"}, "what does nothing on the base that was told of it is not even asked about"
