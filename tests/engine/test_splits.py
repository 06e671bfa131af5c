"""Tasks that are too large are divided by their planner, and what stops a task has a name of its own."""

import re

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Retry
from orchestrator.domain.event.work import TaskEnded
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.report.run.result import build_run_result, build_status
from orchestrator.report.run.status_text import render_status_lines
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.run_control.control import send_command
from tests.loopback.builders import call, reply
from tests.running.goals import Bench, one, reason, status, task
from tests.running.projects import git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

LARGE = "x = 1\n" * 5_001


def large(name: str) -> list[ScriptedReply]:
    """A worker that writes more than anybody can review."""
    return [writes(name, "large.txt", LARGE), worker_ends(name, "all of it at once")]


def unreadable_call(name: str) -> list[ScriptedReply]:
    """A worker whose replies hold no call that can be read, until its session is given up."""
    return [reply(task=name, role="worker", call=[call("write", raw=f'{{"path": "{n}')]) for n in range(5)]


def cause(ended: RunExit, name: str) -> EndCause | None:
    return ended.state.tasks[TaskId(name)].cause


def told_to_planner(ended: RunExit, session: str) -> str:
    """The brief of a planner's session."""
    started = [one.event for one in read_all_events(ended.directory.journal) if one.event.kind == "session.started"]
    brief = next(event.brief for event in started if getattr(event, "session", "") == session)  # type: ignore[attr-defined]
    return brief.head if brief.sha is None else BlobStore(ended.directory.blobs).read_blob(brief.sha).decode()


@pytest.mark.extended
async def test_a_task_that_is_too_large_goes_back_to_its_planner_whose_halves_land(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "whole"}, {"key": "after", "depends_on": ["whole"]}),
        *large("whole"),
        plans("root", {"key": "half-1"}, {"key": "half-2"}, {"key": "then", "depends_on": ["half-1", "half-2"]}),
        *task("half-1"),
        *task("half-2"),
        *task("then"),
        planner_ends(),
        judges(),
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (0, "done")
    assert (status(ended, "whole"), cause(ended, "whole")) == (TaskStatus.SPLIT, EndCause.TOO_LARGE)
    assert (status(ended, "after"), cause(ended, "after")) == (TaskStatus.CANCELLED, EndCause.DEPENDENCY)
    assert [status(ended, name) for name in ("half-1", "half-2", "then")] == [TaskStatus.MERGED] * 3
    candidate = ended.state.tasks[TaskId("whole")].candidates[0]
    brief = told_to_planner(ended, "plan:root@1.2")
    assert "whole (whole): split (too-large)" in brief
    assert "5001 changed lines are more than a reviewer can read" in brief
    assert f"its work is kept as {candidate.ref}" in brief
    assert "all of it at once" in brief
    assert git(bench.repository, "show", f"{candidate.ref}:large.txt") == LARGE.strip()
    assert ended.state.pr is not None
    page = git(bench.repository, "show", f"{ended.state.pr.ref}:PR.md")
    assert "`whole`: split (too-large) – 5001 changed lines" in page
    shown = render_status_lines(build_status(ended.state, ended.directory.journal))
    assert any(re.match(r"    split     whole  whole  too-large: 5001 changed lines", line) for line in shown)


async def test_a_split_that_nobody_divides_counts_as_not_landed_and_can_be_tried_again(bench: Bench) -> None:
    items = [plans("root", {"key": "whole"}), *large("whole"), planner_ends()]
    ended = await bench.run(*items)
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "rejected")
    result = build_run_result(ended.state, ended.directory.journal)
    assert (result.tasks[TaskStatus.SPLIT], result.causes) == (1, {"too-large": 1})
    assert [file.path for file in result.files.rejected] == ["large.txt"]
    assert any(
        line.startswith("  ✗ whole  split, too-large: 5001 changed lines") for line in render_summary_lines(ended.state)
    )
    send_command(ended.directory, Retry(task=TaskId("whole")))
    again = await bench.resume(*items, *task("whole"), judges())
    assert (again.exit_code, status(again, "whole"), cause(again, "whole")) == (0, TaskStatus.MERGED, None)


async def test_a_task_that_runs_out_of_turns_in_every_attempt_is_split(bench: Bench) -> None:
    looks = [uses("worker", "long", "read", path="calc.py"), uses("worker", "long", "list")]
    items = (plans("root", {"key": "long"}), *looks, *looks, planner_ends())
    model = {"model": write_script(bench.root / "script.json", items)}
    roles = {"planner": model, "worker": model | {"max_turns": 2}, "judge": model}
    ended = await bench.run(*items, roles=roles, run={"max_attempts": 2})
    assert (status(ended, "long"), cause(ended, "long")) == (TaskStatus.SPLIT, EndCause.TOO_LARGE)
    assert reason(ended, "long").startswith("no attempt of 2 could land; the last: the attempt ended out-of-turns")


async def test_a_run_that_only_infrastructure_stopped_is_blocked_and_not_rejected(bench: Bench) -> None:
    items = [
        plans("root", {"key": "garbled"}, {"key": "unread"}, {"key": "after", "depends_on": ["unread"]}),
        *unreadable_call("garbled"),
        writes("unread", "a.txt", "a\n"),
        worker_ends("unread"),
        *[reply("I like it", role="judge", task="unread")] * 3,
        *[planner_ends()] * 3,
    ]
    ended = await bench.run(*items, run={"max_attempts": 1})
    assert ended.state.ended is not None
    assert (ended.exit_code, ended.state.ended.outcome) == (6, "blocked")
    assert ended.state.ended.reason == (
        "no task could land, and none because of its work: "
        "garbled (model-unreadable), unread (unreadable-review); have them tried again: orchestrate retry"
    )
    assert [status(ended, name) for name in ("garbled", "unread")] == [TaskStatus.BLOCKED] * 2
    send_command(ended.directory, Retry(task=TaskId("unread")))
    again = await bench.resume(*items, *task("unread"), *task("after"), judges())
    assert (again.exit_code, status(again, "after")) == (0, TaskStatus.MERGED)


async def test_a_planner_whose_provider_refuses_it_blocks_the_run_and_can_be_asked_again(bench: Bench) -> None:
    refused = [reply(role="planner", task="root", error="request-refused")] * 3
    ended = await bench.run(*refused)
    assert (ended.exit_code, status(ended, "root")) == (6, TaskStatus.BLOCKED)
    assert cause(ended, "root") == EndCause.MODEL_REFUSED
    send_command(ended.directory, Retry(task=TaskId("root")))
    again = await bench.resume(*refused, *one("a"))
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)


async def test_replies_that_nobody_can_read_use_up_no_attempt(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        *unreadable_call("a"),
        worker_ends("a", "nothing to do"),
        *task("a"),
        planner_ends(),
        judges(),
        run={"max_attempts": 2},
    )
    assert (ended.exit_code, len(ended.state.tasks[TaskId("a")].attempts)) == (0, 3)


async def test_one_rejected_task_makes_the_run_rejected_and_every_end_has_its_name(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "red"}, {"key": "garbled"}),
        writes("red", "calc.py", "x = 1\n"),
        worker_ends("red"),
        *unreadable_call("garbled"),
        *[planner_ends()] * 2,
        run={"max_attempts": 1},
    )
    assert ended.exit_code == 4
    events = [one.event for one in read_all_events(ended.directory.journal)]
    causes = {event.task: event.cause for event in events if isinstance(event, TaskEnded)}
    assert causes == {"red": EndCause.RED_TESTS, "garbled": EndCause.MODEL_UNREADABLE}


async def test_each_further_attempt_is_made_by_the_next_worker_of_the_ladder(bench: Bench) -> None:
    items = [
        plans("root", {"key": "hard"}),
        edits("hard", "calc.py", "    return a + b\n", "    return a - b\n"),
        worker_ends("hard"),
        edits("hard", "calc.py", "    return a - b\n", "    return b - a\n"),
        worker_ends("hard"),
        edits("hard", "calc.py", "    return b - a\n", "    return b + a\n"),
        worker_ends("hard"),
        reviews("hard"),
        planner_ends(),
        judges(),
    ]
    model = bench.options(items).values["roles"]["worker"]["model"]
    variants = {"strong": {"model": model}, "strongest": {"model": model}}
    roles = {"worker": {"model": model, "variants": variants, "escalate_to": ["strong", "strongest"]}}
    roles |= {name: {"model": model} for name in ("planner", "judge")}
    ended = await bench.run(*items, roles=roles)
    tried = ended.state.tasks[TaskId("hard")].attempts
    assert [attempt.variant for attempt in tried] == [None, "strong", "strongest"]
    assert (ended.exit_code, status(ended, "hard")) == (0, TaskStatus.MERGED)
