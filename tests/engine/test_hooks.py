"""Lifecycle hooks in whole runs: what they are told, what a veto does, and that their failure is not silent."""

import json
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.external import HookFinished, HookStarted
from orchestrator.domain.event.work import ToolReturned
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import TWO, Bench, one, reason, status, task
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, worker_ends, writes

pytestmark = pytest.mark.sandbox

SCOPES = ("run", "turn", "tool", "attempt", "verdict", "landing")
EVERY = [f"{when}_{scope}" for scope in SCOPES for when in ("before", "after")]


def hook(on: str | list[str], run: str, **more: Any) -> dict[str, Any]:
    return {"on": on, "run": run, "trusted": True, **more}


def told(ended: RunExit) -> list[dict[str, Any]]:
    """What the hooks read, in order; short enough to stand in the events."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [json.loads(event.input.head) for event in events if isinstance(event, HookStarted)]


def answers(ended: RunExit) -> list[HookFinished]:
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, HookFinished)]


async def test_every_point_of_a_run_is_told_in_order_with_what_belongs_to_it(bench: Bench) -> None:
    ended = await bench.run(*one("a"), hooks=[hook(EVERY, "true")])
    assert ended.exit_code == 0
    seen = told(ended)
    worker = [one["point"] for one in seen if one.get("role") in (None, "worker")]
    tool = ["before_tool", "after_tool"]
    assert worker == [
        *("before_run", "before_attempt", "before_turn", *tool, "after_turn", "before_turn", *tool, "after_turn"),
        *("after_attempt", "before_verdict", "after_verdict", "before_landing", "after_landing", "after_run"),
    ]
    by_point = {one["point"]: one for one in seen if one["tasks"] in ([], ["a"])}
    wrote = next(one for one in seen if one["point"] == "after_tool" and one["tool"]["name"] == "write")
    assert wrote["paths"] == ["a.txt"]
    assert wrote["tool"]["arguments"] == {"path": "a.txt", "text": "a\n"}
    assert wrote["tool"]["result"]["ok"] is True
    assert by_point["before_attempt"]["attempt"]["candidate"] is None
    assert by_point["after_attempt"]["paths"] == ["a.txt"]
    assert by_point["after_verdict"]["verdict"]["kind"] == "merge"
    assert by_point["before_landing"]["landing"]["units"] == ["a@1"]
    assert by_point["after_landing"]["run"]["head"] == ended.state.head
    assert by_point["after_run"]["outcome"] == "done"
    assert len({one["key"] for one in seen}) == len(seen)
    run = {"run": ended.state.run.run, "policy": ""}
    assert by_point["before_run"]["identity"] == run | dict.fromkeys(("role", "model", "engine"), "") | {
        "task": None,
        "attempt": 0,
    }
    worker_agent = run | {"task": "a", "attempt": 1, "role": "worker", "engine": "loop"}
    for point in ("before_attempt", "after_attempt", "before_verdict", "after_verdict"):
        assert by_point[point]["identity"] == worker_agent | {"model": by_point[point]["attempt"]["model"]}
    agents = {one["role"]: one["identity"] for one in seen if "session" in one}
    assert agents["worker"] == by_point["before_attempt"]["identity"]
    assert {role: agent["role"] for role, agent in agents.items()} == {role: role for role in agents}
    assert {"planner", "worker", "judge"} <= set(agents)


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_hook_has_the_identity_of_the_agent_in_its_environment(bench: Bench, trusted: bool) -> None:
    printed = 'echo "$ORCHESTRATE_RUN $ORCHESTRATE_TASK $ORCHESTRATE_ATTEMPT $ORCHESTRATE_ROLE $ORCHESTRATE_ENGINE"'
    ended = await bench.run(*one("a"), hooks=[hook("after_attempt", printed, trusted=trusted)])
    assert [answer.stdout.head for answer in answers(ended)] == [f"{ended.state.run.run} a 1 worker loop\n"]


async def test_without_a_hook_nothing_is_recorded_of_one(bench: Bench) -> None:
    assert answers(await bench.run(*one("a"))) == []


async def test_a_veto_of_the_run_pauses_it_until_a_person_resumes_it(bench: Bench) -> None:
    door = bench.root / "door"
    hooks = [hook("before_run", f"test -e {door} || {{ echo 'not today' >&2; exit 2; }}")]
    ended = await bench.run(*one("a"), hooks=hooks)
    assert ended.exit_code == 6
    assert "not today" in str(ended.error)
    door.touch()
    assert (await bench.resume(*one("a"))).exit_code == 0


async def test_a_vetoed_turn_ends_the_session(bench: Bench) -> None:
    hooks = [hook("before_turn", "exit 2", match={"task": "a"})]
    ended = await bench.run(plans("root", {"key": "a"}), planner_ends(), hooks=hooks, run={"max_attempts": 1})
    assert status(ended, "a") == TaskStatus.REJECTED
    state = ended.state.tasks[TaskId("a")]
    assert (state.ends[-1].exit, state.cause) == ("vetoed", EndCause.REFUSED_BY_HOOK)


async def test_a_vetoed_tool_does_nothing_and_the_model_is_told_why(bench: Bench) -> None:
    refusing = """grep -q '"path": "secret' && { echo '{"decision":"veto","reason":"hands off"}'; } || true"""
    items = [plans("root", {"key": "a"}), writes("a", "secret.txt", "x"), *task("a"), planner_ends(), judges()]
    ended = await bench.run(*items, hooks=[hook("before_tool", refusing, match={"tool": "write"})])
    assert ended.exit_code == 0
    assert git(bench.repository, "ls-tree", "--name-only", ended.state.run.branch, "secret.txt") == ""
    returned = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    refused = [one for one in returned if isinstance(one, ToolReturned) and not one.ok]
    assert ["hands off" in one.observation.head for one in refused] == [True]


async def test_a_final_tool_that_is_vetoed_sends_the_worker_back_to_work(bench: Bench) -> None:
    unless_written = "test -e a.txt || { echo 'write a.txt first' >&2; exit 2; }"
    guard = {"on": "before_tool", "run": unless_written, "match": {"tool": "finish", "task": "a"}}
    ended = await bench.run(plans("root", {"key": "a"}), worker_ends("a"), *one("a")[1:], hooks=[guard])
    assert ended.exit_code == 0
    assert [answer.decision for answer in answers(ended)] == ["veto", "allow"]


async def test_a_vetoed_attempt_blocks_its_task_and_no_other(bench: Bench) -> None:
    items = [plans("root", {"key": "a"}, {"key": "b"}), *task("b"), planner_ends(), judges()]
    ended = await bench.run(*items, hooks=[hook("before_attempt", "echo no >&2; exit 2", match={"task": "a"})])
    assert (status(ended, "a"), status(ended, "b")) == (TaskStatus.BLOCKED, TaskStatus.MERGED)
    assert reason(ended, "a").endswith("no")


async def test_a_vetoed_merge_is_a_rejection(bench: Bench) -> None:
    hooks = [hook("before_verdict", "echo 'no changelog' >&2; exit 2", match={"path": "**/*.txt"})]
    ended = await bench.run(*one("a"), hooks=hooks)
    assert (ended.exit_code, status(ended, "a")) == (4, TaskStatus.REJECTED)
    assert "no changelog" in reason(ended, "a")


async def test_of_a_vetoed_landing_only_the_guilty_are_ejected_with_the_reason(bench: Bench) -> None:
    landing = """! grep -q '"a@1"' || { echo 'not that one' >&2; exit 2; }"""
    ended = await bench.run(
        *TWO[:1], *task("a"), *task("a"), *task("b"), *TWO[-2:], hooks=[hook("before_landing", landing)]
    )
    assert ended.exit_code == 0
    assert [unit for one in ended.state.landings for unit in one.units] == ["a@2", "b@1"]
    assert any("not that one" in text for text in ended.state.tasks[TaskId("a")].attempts[1].feedback)
    assert ended.state.test_runs == 3, "the gate is not run again for what a hook refuses"


async def test_a_hook_may_stop_the_run_at_any_point(bench: Bench) -> None:
    stop = """echo '{"decision":"stop","reason":"frozen until Monday"}'"""
    ended = await bench.run(*one("a"), hooks=[hook("before_landing", stop)])
    assert ended.exit_code == 6
    assert "frozen until Monday" in str(ended.error)
    assert status(ended, "a") == TaskStatus.QUEUED


async def test_a_failing_hook_vetoes_unless_that_is_to_be_ignored(bench: Bench) -> None:
    strict = await bench.run(*one("a"), hooks=[hook("before_attempt", "exit 1")])
    assert status(strict, "a") == TaskStatus.BLOCKED
    lenient = await bench.run(*one("a"), hooks=[hook("before_attempt", "exit 1", on_error="ignore")])
    assert lenient.exit_code == 0
    assert [answer.decision for answer in answers(lenient)] == ["failed"]


async def test_a_hook_that_nobody_vouches_for_sees_the_work_and_can_change_nothing(bench: Bench) -> None:
    command = f"cat a.txt; echo x >a.txt; echo x >{bench.root}/outside; touch /tmp/scratch && echo fine >&2; cat >&2"
    ended = await bench.run(*one("a"), hooks=[{"on": "before_verdict", "run": command}])
    assert ended.exit_code == 0
    (answer,) = answers(ended)
    assert answer.stdout.head == "a\n"
    assert "Read-only file system" in answer.stderr.head
    assert '"point": "before_verdict"' in answer.stderr.head
    assert not (bench.root / "outside").exists()
