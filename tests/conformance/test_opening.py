"""Workspaces of any kind of hands: at first, as their commands see them, and when they are closed."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import Hands, ShellCommand, Workspace
from tests.unit.hands.conftest import Yard

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox, pytest.mark.extended]

LIST_FILES = "git log --format=%H -1; git status --short; ls"


async def test_a_workspace_is_a_clean_checkout_of_its_commit(run: Any, head: CommitId) -> None:
    assert (await run(LIST_FILES)).output == f"{head}\nREADME.md\npkg\ntests\n"


async def test_an_older_commit_has_its_own_files_and_history(
    hands: Hands, yard: Yard, head: CommitId, run_in: Any
) -> None:
    newer = CommitId(yard.commit({"later.txt": "later\n"}, "Later"))
    old, new = [await hands.open_workspace(commit, Purpose("test")) for commit in (head, newer)]
    log = "git log --format=%s; ls later.txt"
    assert (await run_in(new, log)).output == "Later\nStart\nlater.txt\n"
    assert (await run_in(old, log)).output.startswith("Start\nls: cannot access")
    for workspace in (old, new):
        await workspace.close()


async def test_a_commit_that_nothing_points_at_and_that_is_newer_than_the_hands_can_be_opened(
    hands: Hands, yard: Yard, head: CommitId, run_in: Any
) -> None:
    tree = yard.git("rev-parse", f"{head}^{{tree}}")
    commit = CommitId(yard.git("commit-tree", tree, "-p", head, "-m", "Loose"))
    workspace = await hands.open_workspace(commit, Purpose("test"))
    assert (await run_in(workspace, "git log --format=%s")).output == "Loose\nStart\n"
    await workspace.close()


async def test_an_unknown_commit_is_an_environment_problem(hands: Hands, head: CommitId) -> None:
    with pytest.raises(EnvironmentProblem, match="0123456789"):
        await hands.open_workspace(CommitId("0123456789abcdef0123456789abcdef01234567"), Purpose("test"))
    workspace = await hands.open_workspace(head, Purpose("test"))  # and the hands go on
    await workspace.close()


async def test_two_workspaces_at_once_are_apart(hands: Hands, head: CommitId, run_in: Any) -> None:
    one, other = [await hands.open_workspace(head, Purpose(name)) for name in ("one", "other")]
    await one.write_file("mine.txt", b"one")
    await run_in(one, "echo changed > README.md; echo x > /tmp/mine; git commit -qam inside")
    assert (await run_in(other, "ls mine.txt /tmp/mine 2>/dev/null; cat README.md; git log --format=%s")).output == (
        "hello\nStart\n"
    )
    assert await other.list_paths("*.txt") == ()
    await one.close()
    assert (await run_in(other, "cat README.md")).output == "hello\n"
    await other.close()


async def test_closing_kills_what_runs_and_takes_no_more(
    hands: Hands, head: CommitId, nap: str, living: Callable[[str], list[int]]
) -> None:
    workspace = await hands.open_workspace(head, Purpose("test"))
    await workspace.start_command("call", ShellCommand(line=f"sleep {nap} & echo up; wait", timeout_s=600))
    with anyio.fail_after(60):
        while not (await workspace.read_output("call", 10)).content:
            assert await workspace.wait_for_result("call", 0.02) is None
    assert living(nap) != []
    await workspace.close()
    await workspace.close()
    assert living(nap) == []
    with pytest.raises(EnvironmentProblem):
        await workspace.start_command("late", ShellCommand(line="true"))


async def test_nothing_of_a_closed_workspace_is_in_the_next_one(hands: Hands, head: CommitId, run_in: Any) -> None:
    first = await hands.open_workspace(head, Purpose("one"))
    await run_in(first, "echo dirt > dirt; mkdir build; echo x > build/x; echo y > README.md; git commit -qam x")
    await first.write_file("out.log", b"ignored")
    await first.close()
    again = await hands.open_workspace(head, Purpose("two"))
    assert (await run_in(again, LIST_FILES)).output == f"{head}\nREADME.md\npkg\ntests\n"
    await again.close()


async def test_a_checkout_that_a_command_closed_to_its_user_can_be_given_back(
    hands: Hands, head: CommitId, run_in: Any
) -> None:
    workspace = await hands.open_workspace(head, Purpose("test"))
    await run_in(workspace, "mkdir shut; touch shut/x; chmod 000 shut .")
    assert (await run_in(workspace, "touch x; chmod 000 .")).exit_code == 0
    await workspace.close()
    again = await hands.open_workspace(head, Purpose("test"))
    assert (await run_in(again, LIST_FILES)).output == f"{head}\nREADME.md\npkg\ntests\n"
    await again.close()


async def test_leaving_the_hands_ends_every_command(
    open_hands: Any, head: CommitId, nap: str, living: Callable[[str], list[int]]
) -> None:
    async with open_hands() as opened:
        workspace = await opened.hands.open_workspace(head, Purpose("test"))
        await workspace.start_command("call", ShellCommand(line=f"sleep {nap}", timeout_s=600))
        with anyio.fail_after(60):
            while not living(nap):
                assert await workspace.wait_for_result("call", 0.02) is None
    assert living(nap) == []


async def test_a_workspace_stands_where_the_checkout_stands(run: Any, yard: Yard) -> None:
    printed = (await run("pwd; git rev-parse --show-toplevel; cd pkg; git rev-parse --show-prefix")).output
    assert printed == f"{yard.repo}\n{yard.repo}\npkg/\n"


async def test_the_user_inside_has_a_name_a_home_and_no_rights(run: Any) -> None:
    line = '[ "$(id -u)" != 0 ] && [ -n "$(id -un)" ] && touch ~/x && grep CapEff /proc/1/status'
    printed = await run(f'{line}; ls /proc | grep -c "^[0-9]"')
    capabilities, processes = printed.output.splitlines()
    assert capabilities.split()[1] == "0" * 16
    assert int(processes) < 20
    assert printed.result.world is not None


async def test_a_command_sees_no_secret_of_any_machine_and_nothing_that_hands_keep(
    run: Any, canary: str, yard: Yard, outside: Callable[..., str]
) -> None:
    attack = (
        f"cat {yard.home}/.token; echo; find {yard.state} -type f | head -n 1; cat /proc/*/environ | tr '\\0' '\\n'"
    )
    stolen = outside(attack)
    assert stolen.count(canary) >= 2, "the control: without a sandbox it is seen"
    assert f"\n{yard.state}/" in stolen
    printed = (await run(attack)).output
    assert canary not in printed
    assert f"\n{yard.state}/" not in printed
    assert "PATH=" in printed


async def test_the_engine_s_variables_are_not_a_command_s(run: Any, canary: str) -> None:
    printed = (await run("env | cut -d= -f1 | sort", env={"MINE": "1"})).output
    assert " ".join(printed.split()) == (
        "CI HOME LANG LOGNAME MINE PATH PWD PYTHONHASHSEED SHELL SHLVL TERM TMPDIR USER _"
    )


async def test_hashes_stand_for_environment_and_policy_and_stay_the_same(open_hands: Any, head: CommitId) -> None:
    async def read_hashes(**options: Any) -> tuple[str, str, str]:
        async with open_hands(**options) as opened:
            workspace = await opened.hands.open_workspace(head, Purpose("test"))
            policies = [await workspace.get_policy_hash(tier) for tier in (Tier.COMMANDS, Tier.FILES)]
            await workspace.close()
            return opened.hands.environment_hash, policies[0], policies[1]

    hashes = await read_hashes()
    assert all(hashes)
    assert len(set(hashes)) == 3
    assert await read_hashes() == hashes
    other = await read_hashes(grant=SandboxGrant(env={"A": "1"}))
    assert (other[0] != hashes[0], other[1] != hashes[1]) == (True, True)


async def test_all_workspaces_have_one_policy(hands: Hands, workspace: Workspace, head: CommitId) -> None:
    other = await hands.open_workspace(head, Purpose("test"))
    assert await other.get_policy_hash(Tier.COMMANDS) == await workspace.get_policy_hash(Tier.COMMANDS)
    await other.close()


async def test_the_policy_is_described_in_words(hands: Hands) -> None:
    summary = hands.policy_summary
    assert summary["tier"] == "1 (commands without network)"
    assert all(isinstance(text, str) and text for text in summary.values())


async def test_an_error_inside_the_block_comes_out_as_it_is(open_hands: Any, head: CommitId) -> None:
    with pytest.raises(UsageProblem, match="mine"):
        async with open_hands() as opened:
            workspace = await opened.hands.open_workspace(head, Purpose("test"))
            await workspace.start_command("call", ShellCommand(line="sleep 99"))
            raise UsageProblem("mine")
