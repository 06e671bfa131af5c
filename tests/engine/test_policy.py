"""The policy in a run: tools, paths that commands write, landings, and changes while it lasts."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Command
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.event.work import AttemptStarted, ToolReturned
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, Hears, one, status
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

DENIES_SHELL = '[[rule]]\neffect = "deny"\ntools = "shell"\nroles = "worker"\nreason = "no commands"\n'
DENIES_INFRA = '[[rule]]\neffect = "deny"\nwrites = "infra/**"\n'
ASKS_TO_LAND = '[[rule]]\neffect = "ask"\nmerges = "a.txt"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def keeps(file: Path, text: str) -> dict[str, Any]:
    """The settings of a run that has this text as its policy."""
    file.write_text(text)
    return {"policy": {"file": str(file)}}


def lose(file: Path) -> None:
    """Remove the policy."""
    file.unlink()


def commit_policy(repository: Path, text: str) -> None:
    """Give the project a policy of its own."""
    file = repository / ".orchestrate" / "policy.toml"
    file.parent.mkdir()
    file.write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "policy")


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def returned(ended: RunExit, tool: str) -> list[str]:
    return [event.observation.head for event in events(ended, ToolReturned) if event.name == tool]


def say(bench: Bench, command: Command) -> None:
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


def shell(command: str) -> ScriptedReply:
    return uses("worker", "a", "shell", command=command)


async def test_a_denied_tool_does_nothing_and_its_rule_is_named(bench: Bench, file: Path) -> None:
    items = [plans("root", {"key": "a"}), shell("touch reached"), *one("a")[1:]]
    ended = await bench.run(*items, **keeps(file, DENIES_SHELL))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    (said,) = returned(ended, "shell")
    assert f"{file}:1: no commands" in said
    assert "reached" not in ended.state.tasks[TaskId("a")].candidates[0].paths


@pytest.mark.attack(74)
async def test_a_denied_path_that_a_command_writes_does_not_land_before_it_is_taken_back(
    bench: Bench, file: Path
) -> None:
    first = [shell("mkdir infra && echo x > infra/main.tf"), writes("a", "a.txt", "a"), worker_ends("a")]
    second = [shell("rm -r infra"), worker_ends("a"), reviews("a")]
    ended = await bench.run(
        plans("root", {"key": "a"}), *first, *second, planner_ends(), judges(), **keeps(file, DENIES_INFRA)
    )
    task = ended.state.tasks[TaskId("a")]
    assert (ended.exit_code, status(ended, "a"), len(task.attempts)) == (0, TaskStatus.MERGED, 2)
    assert [one.rule for one in task.verdicts[0].verdict.findings if one.is_blocking] == ["policy"]
    assert task.candidates[-1].paths == ("a.txt",)


@pytest.mark.attack(74)
async def test_a_denied_path_is_not_written_by_the_file_tools_either(bench: Bench, file: Path) -> None:
    items = [plans("root", {"key": "a"}), writes("a", "./src/../infra/main.tf", "x"), *one("a")[1:]]
    ended = await bench.run(*items, **keeps(file, DENIES_INFRA))
    assert (ended.exit_code, ended.state.tasks[TaskId("a")].candidates[0].paths) == (0, ("a.txt",))
    assert f"{file}:1" in returned(ended, "write")[0]


async def test_a_landing_that_is_asked_about_waits_for_a_person_in_any_mode(bench: Bench, file: Path) -> None:
    items, policy = one("a"), keeps(file, ASKS_TO_LAND)
    waiting = await bench.run(*items, **policy)
    (asked,) = waiting.state.pending_approvals
    assert (waiting.exit_code, asked.approval.matter, waiting.state.landings) == (6, "landing", [])
    assert f"{file}:1" in asked.approval.detail[0]
    say(bench, Approve(item=asked.approval.item))
    ended = await bench.resume(*items)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)


@pytest.mark.attack(74)
async def test_a_candidate_that_was_let_pass_does_not_land_once_the_policy_denies_it(bench: Bench, file: Path) -> None:
    items, policy = one("a"), keeps(file, ASKS_TO_LAND)
    waiting = await bench.run(*items, **policy)
    keeps(file, ASKS_TO_LAND.replace("ask", "deny"))
    say(bench, Approve(item=waiting.state.pending_approvals[0].approval.item))
    ended = await bench.resume(*items, run={"max_attempts": 1})
    assert (status(ended, "a"), ended.state.landings) == (TaskStatus.REJECTED, [])


async def test_a_question_about_a_tool_waits_in_the_inbox_and_holds_nobody_else(bench: Bench, file: Path) -> None:
    policy = keeps(file, '[[rule]]\neffect = "ask"\ntools = "shell"\n')
    plan = plans("root", {"key": "a"}, {"key": "b"})
    gives_up = [shell("echo a > a.txt"), worker_ends("a", "nothing could be done")]
    other = [writes("b", "b.txt", "b"), worker_ends("b"), reviews("b")]
    again = [shell("echo a > a.txt"), worker_ends("a"), reviews("a")]
    items = [plan, *gives_up, *other, *again, planner_ends(), judges()]
    waiting = await bench.run(*items, **policy)
    (asked,) = waiting.state.pending_approvals
    assert (waiting.exit_code, asked.approval.matter, status(waiting, "b")) == (6, "policy", TaskStatus.MERGED)
    assert asked.approval.item in returned(waiting, "shell")[0]
    say(bench, Approve(item=asked.approval.item))
    ended = await bench.resume(*items)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    assert any("granted" in line for line in events(ended, AttemptStarted)[-1].attempt.feedback)


@pytest.mark.attack(74)
async def test_a_live_run_takes_a_change_up_at_the_next_call_and_keeps_the_last_good_file(
    bench: Bench, file: Path
) -> None:
    policy = keeps(file, "")
    calls = iter(["[[rule]\n", DENIES_SHELL])

    def change(event: Any) -> None:
        if event.kind == "tool.returned" and event.name == "shell":
            file.write_text(next(calls, DENIES_SHELL))

    items = [plans("root", {"key": "a"}), shell("true"), shell("echo 2"), shell("echo 3"), *one("a")[1:]]
    ended = await bench.run(*items, when=Hears(change), **policy)
    assert [("Nothing was done" in said) for said in returned(ended, "shell")] == [False, False, True]
    (loaded,) = events(ended, PolicyLoaded)
    assert (loaded.text.head, loaded.policy == ended.state.policy.policy) == (DENIES_SHELL, True)
    (told,) = [one for one in ended.state.notices if one.code == NoticeCode.POLICY_UNREADABLE]
    assert f"{file}" in told.text


@pytest.mark.attack(74)
async def test_a_resume_without_the_file_goes_on_by_the_rules_in_the_journal(bench: Bench, file: Path) -> None:
    items = [plans("root", {"key": "a"}), shell("true"), *one("a")[1:]]
    policy = keeps(file, DENIES_SHELL + ASKS_TO_LAND)
    waiting = await bench.run(*items, **policy)
    lose(file)
    say(bench, Approve(item=waiting.state.pending_approvals[0].approval.item))
    ended = await bench.resume(*items)
    assert (ended.exit_code, len(events(ended, PolicyLoaded))) == (0, 1)
    assert {one.policy for one in events(ended, AttemptStarted)} == {ended.state.policy.policy}


@pytest.mark.attack(74)
async def test_the_project_s_file_at_the_base_tightens_and_can_allow_nothing(bench: Bench, file: Path) -> None:
    commit_policy(bench.repository, '[[rule]]\neffect = "allow"\ntools = "shell"\n' + DENIES_INFRA)
    items = [plans("root", {"key": "a"}), shell("true"), writes("a", "infra/x", "x"), *one("a")[1:]]
    ended = await bench.run(*items, **keeps(file, DENIES_SHELL))
    assert ended.exit_code == 0
    assert f"{file}:1" in returned(ended, "shell")[0]
    assert ".orchestrate/policy.toml:4" in returned(ended, "write")[0]


async def test_a_run_whose_policy_cannot_be_read_does_not_begin(bench: Bench, file: Path) -> None:
    with pytest.raises(UsageProblem, match=r"policy\.toml:2: rule\[0\]\.effect"):
        await bench.run(*one("a"), **keeps(file, '[[rule]]\neffect = "deni"\ntools = "shell"\n'))


async def test_the_tier_of_commands_is_lowered_and_a_higher_one_refused(bench: Bench, file: Path) -> None:
    asks = uses("worker", "a", "request_tier", tier=2, reason="a package")
    items = [plans("root", {"key": "a"}), asks, *one("a")[1:]]
    ended = await bench.run(*items, **keeps(file, '[[rule]]\neffect = "deny"\ntiers = [2, 3]\n'))
    assert (ended.exit_code, ended.state.approvals) == (0, {})
    assert f"the policy denies tier 2 ({file}:1)" in returned(ended, "request_tier")[0]


async def test_an_agent_cannot_fill_the_inbox_with_what_it_makes_up(bench: Bench, file: Path) -> None:
    reads = [uses("worker", "a", "read", path=f"made_up_{number}.py") for number in range(12)]
    policy = keeps(file, '[[rule]]\neffect = "ask"\ntools = "read"\npaths = "made_up*"\n')
    ended = await bench.run(plans("root", {"key": "a"}), *reads, *one("a")[1:], **policy)
    assert (ended.exit_code, len(ended.state.approvals)) == (0, 10)
    assert "too many questions" in returned(ended, "read")[-1]
