"""The capability ladder in a run: what workers get, what they may ask for, and what an answer changes."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Command, Reject
from orchestrator.domain.event.work import AttemptStarted, SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, one, status
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

ASKS = uses("worker", "a", "request_tier", tier=2, reason="the tests need a package")


def wishing(*asked: ScriptedReply) -> list[ScriptedReply]:
    """A run whose only worker asks, gives up, and does its work in the next attempt."""
    gives_up = [worker_ends("a", "nothing could be done")]
    does_it = [uses("worker", "a", "shell", command="true"), writes("a", "a.txt", "a"), worker_ends("a"), reviews("a")]
    return [plans("root", {"key": "a"}), *asked, *gives_up, *does_it, planner_ends(), judges()]


def say(bench: Bench, command: Command) -> None:
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def returned(ended: RunExit, tool: str) -> list[str]:
    return [event.observation.head for event in events(ended, ToolReturned) if event.name == tool]


async def test_a_wish_waits_in_the_inbox_and_the_task_is_not_tried_again_before_the_answer(bench: Bench) -> None:
    ended = await bench.run(*wishing(ASKS))
    (asked,) = ended.state.pending_approvals
    assert (ended.exit_code, asked.approval.item, len(events(ended, AttemptStarted))) == (6, "tier/a/2", 1)
    assert "the tests need a package" in asked.approval.detail[0]
    assert "not granted yet" in returned(ended, "request_tier")[0]
    assert [one.kind for one in ended.state.unapproved_violations] == ["tier"]


async def test_a_granted_wish_raises_the_tier_of_that_task_alone(bench: Bench) -> None:
    items = wishing(ASKS)
    await bench.run(*items, hands={"registries": ["registry.test:443"]})
    say(bench, Approve(item="tier/a/2"))
    ended = await bench.resume(*items)
    shells = [event for event in events(ended, ToolCalled) if event.name == "shell"]
    asking = next(event for event in events(ended, ToolCalled) if event.name == "request_tier")
    assert (shells[0].tier, asking.tier) == (Tier.REGISTRIES, Tier.COMMANDS)
    assert shells[0].policy != asking.policy
    assert any("granted" in line for line in events(ended, AttemptStarted)[-1].attempt.feedback)
    assert ended.state.unapproved_violations == []  # what the user grants was no attempt to get beyond a wall


async def test_a_refused_wish_is_told_to_the_next_attempt_and_not_asked_again(bench: Bench) -> None:
    items = wishing(ASKS)
    await bench.run(*items)
    say(bench, Reject(item="tier/a/2", reason="vendored in lib/"))
    ended = await bench.resume(*items)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    assert any("vendored in lib/" in line for line in events(ended, AttemptStarted)[-1].attempt.feedback)
    assert {event.tier for event in events(ended, ToolCalled) if event.name == "shell"} == {Tier.COMMANDS}


async def test_a_wish_of_a_task_that_ended_keeps_nobody_waiting(bench: Bench) -> None:
    items = [plans("root", {"key": "a"}), ASKS, writes("a", "a.txt", "a"), worker_ends("a"), reviews("a")]
    ended = await bench.run(*items, planner_ends(), judges())
    assert (ended.exit_code, ended.state.pending_approvals) == (0, [])


async def test_more_than_the_user_lets_workers_ask_for_is_refused_at_once(bench: Bench) -> None:
    asks = uses("worker", "a", "request_tier", tier=3, reason="I want to push")
    ended = await bench.run(*wishing(asks), hands={"ask_tier": 2})
    assert (ended.exit_code, ended.state.approvals) == (0, {})
    assert "not to be had" in returned(ended, "request_tier")[0]


async def test_a_worker_at_tier_0_has_no_shell(bench: Bench) -> None:
    items = [plans("root", {"key": "a"}), uses("worker", "a", "shell", command="touch reached"), *one("a")[1:]]
    options = bench.options(items)
    roles = options.flags["roles"]
    ended = await bench.run(*items, roles=roles | {"worker": roles["worker"] | {"tier": 0}})
    assert "there is no tool 'shell'" in returned(ended, "shell")[0]


async def test_a_planner_that_may_run_commands_can_write_nothing(bench: Bench) -> None:
    items = [uses("planner", "root", "shell", command="touch reached; ls reached"), *one("a")]
    options = bench.options(items)
    roles = options.flags["roles"]
    ended = await bench.run(*items, roles=roles | {"planner": roles["planner"] | {"tier": 1}})
    assert ended.exit_code == 0
    assert "Read-only file system" in returned(ended, "shell")[0]


async def test_every_tool_event_names_the_policy_it_ran_under(bench: Bench) -> None:
    ended = await bench.run(*one("a"))
    called, sessions = events(ended, ToolCalled), events(ended, SessionStarted)
    roles = {event.session: event.role for event in sessions}
    of_worker = [event for event in called if roles[event.session] == "worker"]
    assert of_worker
    assert {(event.tier, len(event.policy)) for event in of_worker} == {(Tier.COMMANDS, 64)}
