"""Agents of other makers as workers: programs, and agents that speak ACP, judged like anybody's work."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.commands.definitions import Tell
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.event.people import WordsDelivered
from orchestrator.domain.event.work import AttemptEnded, AttemptStarted, ModelReplied, SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, Exit, TaskStatus
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, When, status
from tests.running.projects import git
from tests.running.scripts import judges, planner_is_done, plans, reviews

pytestmark = pytest.mark.sandbox

AGENT = Path(__file__).parents[1] / "doubles" / "guests"
ONE_TRY = {"max_workers": 1, "max_attempts": 1}
EDIT = (
    "printf '\\n\\ndef triple(a):\\n    return 3 * a\\n' >> calc.py; "
    "printf 'import unittest\\n\\nfrom calc import triple\\n\\n\\nclass T(unittest.TestCase):\\n"
    "    def test_it(self):\\n        self.assertEqual(triple(2), 6)\\n' > test_triple.py"
)


def replies() -> list[ScriptedReply]:
    """A planner with one task, a judge that approves of it."""
    return [plans("root", {"key": "triple"}), reviews("triple"), *planner_is_done(), judges()]


def shell(script: str, **more: Any) -> Mapping[str, Any]:
    """Flags of a run whose worker is a program: a shell with a script, whose $1 is its task."""
    table = {"protocol": "command", "command": ["/bin/sh", "-c", script, "sh", "{prompt}"], **more}
    return {"engines": {"tool": table}}


async def run_with(bench: Bench, engines: Mapping[str, Any], heard: When | None = None, **flags: Any) -> RunExit:
    """A run of one task whose worker is a guest; `heard` is told of events."""
    options = bench.options(replies(), **{"run": ONE_TRY, **engines, **flags})
    worker = {"engine": next(iter(engines["engines"])), "model": ""}
    values = dict(options.flags)
    values["roles"] = {**values["roles"], "worker": worker}
    return await run_goal(replace(options, flags=values), "make it better", heard)


def list_events(ended: RunExit, kind: type[Any]) -> list[Any]:
    """The events of a kind."""
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


async def test_a_program_works_and_its_work_lands_by_the_same_judge(bench: Bench) -> None:
    script = f'{EDIT}; echo "I was told: $1" | grep -o "triple is done"; echo \'{{"cost": 0.5, "in": 7}}\''
    usage = {"cost_usd": "cost", "input_tokens": "in"}
    ended = await run_with(bench, shell(script, usage=usage))
    assert status(ended, "triple") == TaskStatus.MERGED
    (started,) = list_events(ended, AttemptStarted)
    assert (started.engine, started.attempt.model) == ("tool", "tool")
    session = [one for one in list_events(ended, ModelReplied) if one.role == "worker"]
    assert [(str(one.usage.cost_usd), one.usage.input_tokens) for one in session] == [("0.5", 7)]
    assert "def triple" in git(bench.repository, "show", f"{ended.state.run.branch}:calc.py")


@pytest.mark.extended
async def test_what_a_program_does_not_tell_is_unknown_and_never_free(bench: Bench) -> None:
    ended = await run_with(bench, shell(EDIT))
    assert status(ended, "triple") == TaskStatus.MERGED
    assert ended.state.spend.by_role["worker"].usd is None


@pytest.mark.extended
@pytest.mark.parametrize("prompt", ["stdin", "file"])
async def test_a_task_is_handed_over_by_file_or_on_standard_input(bench: Bench, prompt: str) -> None:
    source = 'cat "$1"' if prompt == "file" else "cat"
    ended = await run_with(bench, shell(f"{source} | grep -q 'triple is done' && {EDIT}", prompt=prompt))
    assert status(ended, "triple") == TaskStatus.MERGED


@pytest.mark.parametrize(
    ("script", "exit_", "cause", "words"),
    [
        ("echo no key >&2; exit 3", Exit.GUEST_FAILED, EndCause.GUEST_FAILED, "exited with 3. It printed: no key"),
        ("sleep 60", Exit.OUT_OF_TIME, EndCause.TOO_LARGE, "was not done after 1 s"),
        ("echo done", Exit.FINISHED, EndCause.RULE_BROKEN, ""),
    ],
    ids=["fails", "late", "does-nothing"],
)
async def test_what_does_not_work_has_a_name(
    bench: Bench, script: str, exit_: Exit, cause: EndCause, words: str
) -> None:
    ended = await run_with(bench, shell(script, timeout_s=1 if "sleep" in script else 60))
    end = list_events(ended, AttemptEnded)[-1]
    task = ended.state.tasks[TaskId("triple")]
    assert (end.exit, task.cause) == (exit_, cause)
    assert words in end.detail


async def test_what_a_person_says_stands_in_the_brief_of_the_next_attempt(bench: Bench) -> None:
    def tell_second(_event: AttemptStarted) -> None:
        state = StateDirectory.locate_for(bench.repository, str(bench.root / "state"))
        send_command(state.find_run(None), Tell(task=TaskId("two"), note="keep it short"))

    drafts = [plans("root", {"key": "one"}, {"key": "two", "depends_on": ["one"]})]
    items = [*drafts, reviews("one"), reviews("two"), *planner_is_done(), judges()]
    script = 'sleep 1; echo "$1" | grep "keep it short" > two.txt; date +%N > "n$(date +%N).txt"; exit 0'
    flags = {"run": {"max_workers": 1, "max_attempts": 1}, **shell(script)}
    options = bench.options(items, **flags)
    roles = {**options.flags["roles"], "worker": {"engine": "tool", "model": ""}}
    ended = await run_goal(
        replace(options, flags={**options.flags, "roles": roles}), "x", When("attempt.started", tell_second)
    )
    assert status(ended, "two") == TaskStatus.MERGED
    (delivered,) = list_events(ended, WordsDelivered)
    assert (delivered.task, delivered.turn) == ("two", None)
    assert git(bench.repository, "show", f"{ended.state.run.branch}:two.txt") == "keep it short"


async def test_a_guest_without_its_credentials_is_not_begun(bench: Bench) -> None:
    ended = await run_with(bench, shell(EDIT, env=["NO_SUCH_KEY"]))
    assert ended.exit_code == EnvironmentProblem.exit_code
    assert ended.state.paused is not None
    assert "the variable NO_SUCH_KEY is not set" in ended.state.paused.reason


def acp_agent(way: str = "", **more: Any) -> Mapping[str, Any]:
    """Flags of a run whose worker is the agent that is built with the published package."""
    folders = [str(AGENT), *dict.fromkeys((sys.prefix, sys.base_prefix))]
    command = [sys.executable, str(AGENT / "acp_agent.py"), way]
    table = {"protocol": "acp", "command": command, "read_only": folders, "tier": 1, **more}
    return {"engines": {"pal": table}}


@pytest.mark.extended
async def test_an_acp_agent_works_and_its_files_are_the_workspaces(bench: Bench) -> None:
    ended = await run_with(bench, acp_agent())
    turns = [one for one in list_events(ended, ModelReplied) if one.role == "worker"]
    assert status(ended, "triple") == TaskStatus.MERGED, ended.state.tasks[TaskId("triple")].reason
    assert len(turns) >= 2
    assert (ended.state.spend.by_role["worker"].usd, turns[-1].usage.input_tokens) == (0.25, 100)
    summary = ended.state.tasks[TaskId("triple")].ends[-1].handoff
    assert summary is not None
    assert summary.summary.count("refused") == 3
    assert "allow_once" in summary.summary


@pytest.mark.extended
async def test_a_feedback_round_goes_on_in_the_agents_own_session_where_it_can(bench: Bench) -> None:
    ended = await run_with(bench, acp_agent("remember"), run={"max_workers": 1, "max_attempts": 2})
    assert status(ended, "triple") == TaskStatus.MERGED, ended.state.tasks[TaskId("triple")].reason
    opened = [(one.session, one.agent_session, one.is_loaded) for one in list_events(ended, GuestSessionOpened)]
    assert [one[1:] for one in opened] == [("s1", False), ("s1", True)]
    assert opened[0][0] != opened[1][0]
    summary = ended.state.tasks[TaskId("triple")].ends[-1].handoff
    assert summary is not None
    assert "what I said before" not in summary.summary


@pytest.mark.extended
async def test_an_acp_agent_is_held_by_the_policy_and_asks_in_the_inbox(bench: Bench) -> None:
    policy = bench.root / "policy.toml"
    policy.write_text('[[rule]]\neffect = "ask"\nwrites = "calc.py"\nreason = "mind the sums"\n')
    ended = await run_with(bench, acp_agent(), policy={"file": str(policy)})
    assert status(ended, "triple") != TaskStatus.MERGED
    (asked,) = ended.state.pending_approvals
    assert "write calc.py" in asked.approval.title
    words = "".join(one.text.head for one in list_events(ended, ModelReplied) if one.role == "worker")
    assert "asked leave: edit calc.py → refused" in words
    assert "mind the sums" in words


@pytest.mark.extended
@pytest.mark.parametrize(
    ("policy", "usual", "words"),
    [("tiers = [2, 3]", 1, ""), ("tiers = [1, 2, 3]", 0, "the policy allows commands of a worker no tier")],
    ids=["lower", "none"],
)
async def test_an_engine_runs_at_the_tier_that_the_policy_leaves_it(
    bench: Bench, policy: str, usual: int, words: str
) -> None:
    file = bench.root / "policy.toml"
    file.write_text(f'[[rule]]\neffect = "deny"\nroles = "worker"\n{policy}\n')
    script = f"{EDIT}; env | grep -c PROXY > proxies.txt; true"
    ended = await run_with(bench, shell(script, tier=2, hosts=["example.com:443"]), policy={"file": str(file)})
    assert words in list_events(ended, AttemptEnded)[-1].detail
    if usual:
        assert git(bench.repository, "show", f"{ended.state.run.branch}:proxies.txt") == "0"
    else:
        assert list_events(ended, GuestStarted) == []


@pytest.mark.extended
@pytest.mark.parametrize(
    ("way", "words"),
    [("die", "it has ended"), ("login", "wants to be logged in"), ("flood", "after 6 turns"), ("hang", "after 3 s")],
)
async def test_an_acp_agent_that_misbehaves_ends_with_a_name(bench: Bench, way: str, words: str) -> None:
    ended = await run_with(bench, acp_agent(way, timeout_s=3 if way == "hang" else 60, max_turns=6))
    end = list_events(ended, AttemptEnded)[-1]
    assert words in end.detail
    assert status(ended, "triple") != TaskStatus.MERGED


@pytest.mark.extended
async def test_a_planner_is_told_of_variants_with_their_engines_and_chooses_one(bench: Bench) -> None:
    table = {"protocol": "command", "command": ["/bin/sh", "-c", EDIT, "sh"]}
    boss = [plans("root", {"key": "triple", "variant": "quick"}), *replies()[1:]]
    options = bench.options(boss, run=ONE_TRY, engines={"tool": table})
    variants = {"quick": {"engine": "tool", "description": "for small changes"}}
    roles = {**options.flags["roles"], "worker": {**options.flags["roles"]["worker"], "variants": variants}}
    ended = await run_goal(replace(options, flags={**options.flags, "roles": roles}), "make it better", None)
    started = next(one for one in list_events(ended, SessionStarted) if one.role == "planner")
    assert "quick: for small changes (the agent tool)" in started.brief.head
    assert status(ended, "triple") == TaskStatus.MERGED
    assert [one.engine for one in list_events(ended, AttemptStarted)] == ["tool"]
