"""What becomes of attempts: merged, revised with the evidence, started afresh, rejected."""

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.domain.ids import TaskId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.task import TaskStatus
from orchestrator.project.options import Options
from tests.loopback.builders import reply
from tests.running.goals import Bench, reason, status, task
from tests.running.projects import GATE, refs
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

GOOD = "    return a + b\n"
BROKEN = "    return a - b\n"
TOO_MANY = "mkdir many && cd many && seq 100001 | xargs touch"


async def test_a_red_candidate_is_revised_with_the_evidence_in_the_same_conversation(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    task = ended.state.tasks[TaskId("sum")]
    assert [attempt.mode for attempt in task.attempts] == ["fresh", "revise"]
    told = task.attempts[1].feedback
    assert told[0].startswith("tests that fail now and did not on the base (2): test_calc.CalcTest.test_add, ")
    assert "AssertionError: -1 != 3" in told[1]
    assert task.attempts[1].start == task.candidates[0].commit
    assert ended.exit_code == 0


async def test_a_task_that_stays_red_is_rejected_after_bounded_attempts_and_its_work_is_kept(bench: Bench) -> None:
    tries = [item for n in range(2) for item in (writes("sum", "calc.py", f"x = {n}\n"), worker_ends("sum"))]
    ended = await bench.run(plans("root", {"key": "sum"}), *tries, planner_ends(), run={"max_attempts": 2})
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "rejected")
    assert status(ended, "sum") == TaskStatus.REJECTED
    assert "no attempt of 2 could land" in reason(ended, "sum")
    kept = [ref for ref in refs(bench.repository) if "/tasks/sum/" in ref]
    assert len(kept) == 2
    assert not ended.state.landings
    assert f"refs/heads/{ended.state.run.branch}" not in refs(bench.repository)


async def test_a_reviewer_can_take_a_green_candidate_back_but_never_push_a_red_one_through(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum", "reject", "calc.py:2 this must not be done"),
        planner_ends(),
    )
    assert status(ended, "sum") == TaskStatus.REJECTED
    assert reason(ended, "sum") == "diff: calc.py:2 this must not be done"
    assert not ended.state.landings


async def test_a_reviewer_that_cannot_be_understood_blocks_the_task_and_is_no_rejection(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        *[reply("I like it", role="judge", task="sum")] * 3,
        planner_ends(),
    )
    assert status(ended, "sum") == TaskStatus.BLOCKED
    assert "no verdict could be read" in reason(ended, "sum")
    assert not ended.state.landings


async def test_a_worker_that_changes_nothing_is_told_so(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "idle"}),
        *[worker_ends("idle")] * 2,
        planner_ends(),
        run={"max_attempts": 2},
    )
    assert [given.verdict.reasons for given in ended.state.tasks[TaskId("idle")].verdicts] == [
        ("nothing was changed",)
    ] * 2
    assert ended.exit_code == 4


async def test_a_stuck_worker_is_started_afresh(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        *[uses("worker", "sum", "read", path="calc.py")] * 4,
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    attempts = ended.state.tasks[TaskId("sum")].attempts
    assert [attempt.mode for attempt in attempts] == ["fresh", "restart"]
    assert "the attempt ended stuck" in attempts[1].feedback[0]
    assert ended.exit_code == 0


async def test_a_commands_claim_is_not_believed_and_its_own_check_must_pass(bench: Bench) -> None:
    ended = await bench.run(
        plans(
            "root", {"key": "sum", "checks": ["test -e proof || { echo there is none; exit 1; }", "echo all is well"]}
        ),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum", "proof exists, I checked"),
        uses("worker", "sum", "shell", command="echo yes > proof"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    task = ended.state.tasks[TaskId("sum")]
    said, printed = task.verdicts[0].verdict.reasons
    assert "checks of the task that fail (1): `test -e proof || " in said
    assert "there is none" in printed, "what is told of is the check that failed, not the one after it"
    assert status(ended, "sum") == TaskStatus.MERGED


async def test_an_attempt_that_ran_out_of_turns_is_followed_by_one_that_goes_on_from_its_files(bench: Bench) -> None:
    items = (
        plans("root", {"key": "one"}),
        writes("one", "one.py", "x = 1\n"),
        uses("worker", "one", "read", path="one.py"),
        worker_ends("one"),
        reviews("one"),
        planner_ends(),
        judges(),
    )
    model = {"model": write_script(bench.root / "script.json", items)}
    roles = {"planner": model, "worker": model | {"max_turns": 2}, "judge": model}
    ended = await bench.run(*items, roles=roles)
    task = ended.state.tasks[TaskId("one")]
    assert [attempt.mode for attempt in task.attempts] == ["fresh", "restart"]
    assert task.attempts[1].start == task.candidates[0].commit
    assert (ended.exit_code, status(ended, "one")) == (0, TaskStatus.MERGED)


@pytest.mark.slow
async def test_a_worker_that_leaves_too_many_files_loses_its_attempt_and_nothing_else(bench: Bench) -> None:
    greedy = [uses("worker", "a", "shell", command=TOO_MANY)]
    ended = await bench.run(plans("root", {"key": "a"}), *greedy, *task("a"), planner_ends(), judges())
    state = ended.state.tasks[TaskId("a")]
    assert (ended.exit_code, state.status) == (0, TaskStatus.MERGED)
    assert [attempt.mode for attempt in state.attempts] == ["fresh", "restart"]
    assert "100001 changed files, of which a snapshot may have 100000" in state.attempts[1].feedback[0]


@pytest.mark.slow
async def test_a_step_that_leaves_too_many_files_beside_its_own_is_told_of_and_lands(bench: Bench) -> None:
    recipe = Recipe.model_validate(
        {
            "schema": 1,
            "migration": {"id": "words"},
            "scope": {"include": ["calc.py"]},
            "step": [{"id": "greedy", "run": f"echo '# end' >> {{files}}; {TOO_MANY}"}],
            "verify": {"report": "unittest", "check": [{"id": "tests", "run": GATE}]},
        }
    )
    ended = await run_migration(Options(bench.repository, {"state": {"dir": str(bench.root / "state")}}), recipe)
    assert ended.exit_code == 0
    assert "step greedy also changed more than can be listed" in ended.state.notices[0].text
