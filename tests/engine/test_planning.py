"""Planners and iterations: plans refused, sub-planners woken, goals reached or not."""

import pytest

from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import Bench, one, reason, status, task
from tests.running.projects import git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

GOOD = "    return a + b\n"
BROKEN = "    return a - b\n"


async def test_a_task_that_depends_on_a_rejected_one_is_cancelled(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "first"}, {"key": "second", "depends_on": ["first"]}),
        edits("first", "calc.py", GOOD, BROKEN),
        worker_ends("first"),
        planner_ends(),
        run={"max_attempts": 1},
    )
    assert status(ended, "second") == TaskStatus.CANCELLED
    assert reason(ended, "second") == "it depends on first, which was rejected"


async def test_a_refused_plan_goes_back_to_its_planner(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a", "depends_on": ["ghost"]}),
        *one("a"),
    )
    refused = [one.event for one in read_all_events(ended.directory.journal) if one.event.kind == "plan.refused"]
    assert [event.problems for event in refused] == [("task 'a' depends on 'ghost', which is not in the plan",)]  # type: ignore[attr-defined]
    assert ended.exit_code == 0


async def test_a_verdict_to_continue_wakes_the_planner_with_the_reasons(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        *task("a"),
        planner_ends(),
        judges("continue", "b is missing"),
        plans("root", {"key": "b"}),
        *task("b"),
        planner_ends(),
        judges(),
    )
    assert [verdict.decision for verdict in ended.state.goal.iterations] == ["continue", "done"]
    assert ended.state.goal.iteration_reasons == ("b is missing",)
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2


async def test_a_goal_that_is_not_reached_ends_as_partial_with_a_pull_request(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        *task("a"),
        planner_ends(),
        judges("continue", "more @everyone <b>"),
        run={"max_iterations": 1},
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert ended.state.pr is not None
    page = git(bench.repository, "show", f"{ended.state.pr.ref}:PR.md")
    assert "@everyone" not in page
    assert "more @\u200beveryone &lt;b>" in page


async def test_titles_from_models_cannot_steer_the_terminal_of_who_reads_git_log_or_the_pull_request(
    bench: Bench,
) -> None:
    ended = await bench.run(
        plans("root", {"key": "a", "title": "A\x1b]0;owned\x07 \u202ework\n\nSigned-off-by: you"}),
        *task("a"),
        planner_ends(),
        judges(),
    )
    assert ended.state.pr is not None
    subjects = git(bench.repository, "log", "--format=%B", f"main..{ended.state.run.branch}")
    page = git(bench.repository, "show", f"{ended.state.pr.ref}:PR.md")
    assert "A]0;owned work Signed-off-by: you\n" in subjects
    assert [char for char in subjects + page if char in "\x1b\x07\u202e"] == []


async def test_a_planner_that_finds_nothing_to_do_is_never_green(bench: Bench) -> None:
    ended = await bench.run(planner_ends(summary="it is perfect already"))
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "nothing-changed")
    assert "it is perfect already" in (ended.state.ended.reason if ended.state.ended else "")


async def test_a_root_planner_that_gives_no_plan_ends_the_run_as_failed_and_not_as_nothing_to_do(bench: Bench) -> None:
    ended = await bench.run(*[uses("planner", "root", "list")] * 12)
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "failed")
    assert "there is no plan: its planner ended stuck" in (ended.state.ended.reason if ended.state.ended else "")


async def test_sub_planners_are_planned_and_woken_to_the_allowed_depth(bench: Bench) -> None:
    branch = {"key": "down", "kind": "branch"}
    ended = await bench.run(
        plans("root", branch),
        plans("down", branch),
        plans("down/down", branch),  # refused: three planners deep is the limit
        plans("down/down", {"key": "leaf"}),
        writes("down/down/leaf", "a.txt", "a\n"),
        worker_ends("down/down/leaf"),
        reviews("down/down/leaf"),
        planner_ends("down/down", "leaf landed"),
        planner_ends("down", "slice done"),
        planner_ends(),
        judges(),
    )
    assert ended.exit_code == 0
    assert {name: task.status.value for name, task in ended.state.tasks.items()} == {
        "root": "done",
        "down": "done",
        "down/down": "done",
        "down/down/leaf": "merged",
    }


async def test_a_root_planner_that_gives_up_after_something_landed_ends_as_partial(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        *task("a"),
        *[uses("planner", "root", "list")] * 12,
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert "gave up: its planner ended stuck" in (ended.state.ended.reason if ended.state.ended else "")
