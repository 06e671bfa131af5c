"""The protocol of hands and workspaces as the engine uses it."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, ToolRefused, UsageProblem
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.local import LocalHands
from orchestrator.hands.policy import CommandLimits, GrantedFolder, SandboxGrant
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandEnding, ShellCommand

pytestmark = pytest.mark.sandbox


async def result_of(workspace: LocalWorkspace, call_id: str) -> Any:
    while (result := await workspace.wait_for_result(call_id)) is None:
        pass
    return result


async def test_starting_the_same_call_twice_starts_one_command(workspace: LocalWorkspace) -> None:
    for _ in range(3):
        await workspace.start_command("call", ShellCommand(line="echo x >> count; sleep 0.1"))
    first = await result_of(workspace, "call")
    await workspace.start_command("call", ShellCommand(line="echo x >> count"))
    assert await result_of(workspace, "call") == first
    assert (workspace.root / "count").read_text() == "x\n"


async def test_a_wait_is_short_and_tells_that_the_command_still_runs(workspace: LocalWorkspace) -> None:
    await workspace.start_command("call", ShellCommand(line="sleep 99"))
    assert await workspace.wait_for_result("call", 0.05) is None
    await workspace.kill_command("call")
    result = await workspace.wait_for_result("call", 0)
    assert result is not None
    assert (result.ending, result.exit_code) == (CommandEnding.KILLED, None)
    assert result.log.read_bytes() == b""


async def test_a_killed_command_is_dead_with_its_children_when_kill_returns(
    workspace: LocalWorkspace, living: Any
) -> None:
    await workspace.start_command("call", ShellCommand(line="sleep 985.1 & (setsid sleep 985.1 &); echo up > up; wait"))
    while not (workspace.root / "up").exists():
        assert await workspace.wait_for_result("call", 0.01) is None
    assert len(living("985.1")) > 0
    await workspace.kill_command("call")
    assert living("985.1") == []
    await workspace.kill_command("call")
    await workspace.kill_command("never started")


async def test_waiting_for_a_call_that_was_never_started_is_an_error(workspace: LocalWorkspace) -> None:
    with pytest.raises(ValueError, match="no command was started as 'x'"):
        await workspace.wait_for_result("x")


async def test_cancelling_a_run_kills_the_command(workspace: LocalWorkspace, living: Any) -> None:
    with anyio.move_on_after(0.3) as scope:
        await run_command(workspace, ShellCommand(line="sleep 985.2"))
    assert scope.cancelled_caught
    assert living("985.2") == []


async def test_a_killed_command_leaves_its_slot_to_the_next_one(yard: Any) -> None:
    async with yard.hands(slots=1) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        for call_id, line in (("a", "sleep 99"), ("b", "sleep 99"), ("c", "echo last")):
            await workspace.start_command(call_id, ShellCommand(line=line))
        assert await workspace.wait_for_result("c", 0.2) is None
        await workspace.kill_command("b")  # it never ran
        await workspace.kill_command("a")
        assert (await result_of(workspace, "c")).log.read_text() == "last\n"
        assert (await result_of(workspace, "b")).ending == CommandEnding.KILLED


async def test_no_more_commands_run_at_once_than_there_are_slots(yard: Any) -> None:
    async with yard.hands(slots=2) as hands:
        head = yard.git("rev-parse", "HEAD")
        spaces = [await hands.open_workspace(head, Purpose("test")) for _ in range(5)]
        line = "date +%s%N; sleep 0.6; date +%s%N"
        async with anyio.create_task_group() as group:
            logs: list[str] = []

            async def run(space: LocalWorkspace) -> None:
                logs.append((await run_command(space, ShellCommand(line=line))).log.read_text())

            for space in spaces:
                group.start_soon(run, space)
    spans = [tuple(map(int, log.split())) for log in logs]
    at_once = max(sum(a <= moment < b for a, b in spans) for moment, _ in spans)
    assert at_once == 2


async def test_commands_of_one_workspace_may_overlap(workspace: LocalWorkspace) -> None:
    await workspace.start_command("a", ShellCommand(line="until [ -e go ]; do sleep 0.01; done; echo a", timeout_s=60))
    await workspace.start_command("b", ShellCommand(line="touch go; echo b"))
    assert (await result_of(workspace, "b")).log.read_text() == "b\n"
    assert (await result_of(workspace, "a")).log.read_text() == "a\n"


async def test_a_policys_ceilings_hold_whatever_a_command_asks_for(yard: Any) -> None:
    grant = SandboxGrant(limits=CommandLimits(wall_s=3, output_bytes=10))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        late = await run_command(workspace, ShellCommand(line="sleep 99", timeout_s=60))
        much = await run_command(workspace, ShellCommand(line="seq 99"))
    assert (late.ending, much.ending, much.output_bytes) == (CommandEnding.TIMED_OUT, CommandEnding.OUTPUT_LIMIT, 10)


async def test_files_go_in_and_out_between_tools_and_commands(workspace: LocalWorkspace, shell: Any) -> None:
    await workspace.write_file("src/a.py", b"print('hi')\n")
    assert (
        await shell("python3 src/a.py; echo more >> src/a.py; ls -ln src | tail -1 | cut -d' ' -f3; id -u")
    ).output.split()[0] == "hi"
    assert await workspace.read_file("src/a.py") == b"print('hi')\nmore\n"
    assert await workspace.list_paths() == (".gitignore", "README.md", "pkg/__init__.py", "src/a.py")


async def test_file_tools_refuse_links_and_pipes_that_a_command_made(workspace: LocalWorkspace, shell: Any) -> None:
    await shell("ln -s /etc/passwd link; mkfifo pipe; mkdir folder")
    for path in ("link", "pipe", "folder", ".git"):
        with pytest.raises(ToolRefused):
            await workspace.read_file(path)
        with pytest.raises(ToolRefused):
            await workspace.write_file(path, b"x")


async def test_a_snapshot_holds_what_the_command_did(workspace: LocalWorkspace, shell: Any, yard: Any) -> None:
    await shell("echo two > README.md; echo new > new; echo out > x.log; git add new; git commit -qm inside")
    taken = await workspace.take_snapshot("Candidate", "refs/orchestrate/test/1")
    assert yard.git("show", "--stat", "--format=%s", taken.commit).splitlines()[0] == "Candidate"
    assert yard.git("ls-tree", "-r", "--name-only", taken.tree).split() == [
        ".gitignore",
        "README.md",
        "new",
        "pkg/__init__.py",
    ]
    assert (
        yard.git("rev-parse", "refs/orchestrate/test/1", f"{taken.commit}^")
        == f"{taken.commit}\n{yard.git('rev-parse', 'HEAD')}"
    )


UNCHANGING = ("true", "cat note.txt", "ls -R / >/dev/null 2>&1", "echo x > /tmp/x", "git status")
CHANGING = {
    "append": "echo more >> note.txt",
    "new directory": "mkdir -p n/e/w && echo x > n/e/w/f",
    "rename": "mv note.txt moved.txt",
    "mode": "chmod +x note.txt",
    "same length": "printf N | dd of=note.txt conv=notrunc status=none",
    "mapping": 'python3 -c \'import mmap; f = open("note.txt", "r+b"); mmap.mmap(f.fileno(), 0)[0:1] = b"X"\'',
}


async def prepare_watch(workspace: LocalWorkspace) -> str:
    """Return the tree of a workspace of which changes are noticed from now on: from its second snapshot on."""
    for number in range(2):
        await workspace.write_file("note.txt", f"note {number}\n".encode())
        taken = await workspace.take_snapshot("Note", "refs/orchestrate/test/1")
    return taken.tree


async def test_commands_that_write_nothing_leave_the_last_snapshot_valid(workspace: LocalWorkspace, shell: Any) -> None:
    tree = await prepare_watch(workspace)
    for line in UNCHANGING:
        await shell(line)
        assert await workspace.get_unchanged_tree() == tree, line
    again = await workspace.take_snapshot("Again", "refs/orchestrate/test/2")
    assert again.tree == tree


@pytest.mark.parametrize("line", CHANGING.values(), ids=CHANGING)
async def test_a_command_that_writes_makes_a_new_snapshot_necessary(
    workspace: LocalWorkspace, shell: Any, line: str
) -> None:
    tree = await prepare_watch(workspace)
    await shell("true")
    assert await workspace.get_unchanged_tree() == tree
    await shell(line)
    assert await workspace.get_unchanged_tree() is None
    assert (await workspace.take_snapshot("Changed", "refs/orchestrate/test/2")).tree != tree
    await shell("true")
    assert await workspace.get_unchanged_tree() is not None


async def test_after_a_snapshot_that_failed_the_one_before_it_is_no_word_on_what_is_there(
    workspace: LocalWorkspace, shell: Any
) -> None:
    tree = await prepare_watch(workspace)
    await shell("echo changed > note.txt")
    with pytest.raises(EnvironmentProblem):
        await workspace.take_snapshot("Refused", "refs/orchestrate/test/..")
    assert await workspace.get_unchanged_tree() is None
    assert (await workspace.take_snapshot("Changed", "refs/orchestrate/test/1")).tree != tree


@pytest.mark.parametrize("is_followed", [True, False])
async def test_only_a_first_snapshot_that_others_follow_has_changes_noticed(
    workspace: LocalWorkspace, shell: Any, is_followed: bool
) -> None:
    taken = await workspace.take_snapshot("First", "refs/orchestrate/test/1", is_followed=is_followed)
    await shell("true")
    assert await workspace.get_unchanged_tree() == (taken.tree if is_followed else None)
    await shell("touch note.txt")
    assert await workspace.get_unchanged_tree() is None


async def test_a_running_command_may_have_written(workspace: LocalWorkspace) -> None:
    await prepare_watch(workspace)
    await workspace.start_command("call", ShellCommand(line="sleep 99"))
    assert await workspace.get_unchanged_tree() is None
    await workspace.kill_command("call")


async def test_a_snapshot_is_taken_again_after_whatever_changed_the_content(
    workspace: LocalWorkspace, shell: Any, yard: Any
) -> None:
    first = await workspace.take_snapshot("One", "refs/orchestrate/test/1")
    same = await workspace.take_snapshot("Two", "refs/orchestrate/test/2")
    assert (same.tree, yard.git("show", "-s", "--format=%s", "refs/orchestrate/test/2")) == (first.tree, "Two")
    await workspace.write_file("new", b"written\n")
    written = await workspace.take_snapshot("Three", "refs/orchestrate/test/3")
    assert yard.git("show", f"{written.tree}:new") == "written"
    await shell("echo ran > new")
    ran = await workspace.take_snapshot("Four", "refs/orchestrate/test/4")
    assert yard.git("show", f"{ran.tree}:new") == "ran"
    await workspace.restore_tree(first.tree)
    assert (await workspace.take_snapshot("Five", "refs/orchestrate/test/5")).tree == first.tree


async def test_a_closed_workspace_takes_no_command_and_its_checkout_is_reused(hands: LocalHands, yard: Any) -> None:
    head = yard.git("rev-parse", "HEAD")
    first = await hands.open_workspace(head, Purpose("one"))
    await run_command(first, ShellCommand(line="echo dirt > dirt; echo x > README.md; git commit -qam x"))
    await first.close()
    await first.close()
    with pytest.raises(EnvironmentProblem, match="is closed"):
        await first.start_command("late", ShellCommand(line="true"))
    second = await hands.open_workspace(head, Purpose("two"))
    assert second.name == first.name
    result = await run_command(second, ShellCommand(line="git log --format=%s; git status --short; ls"))
    assert result.log.read_text() == "Start\nREADME.md\npkg\n"


async def test_leaving_the_hands_ends_every_command(yard: Any, living: Any) -> None:
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        await workspace.start_command("call", ShellCommand(line="sleep 985.3"))
        assert await workspace.wait_for_result("call", 0.2) is None
    assert living("985.3") == []
    assert list((yard.state / "sessions").glob("[0-9a-f]*")) == []


async def test_an_error_inside_the_block_comes_out_as_it_is(yard: Any) -> None:
    with pytest.raises(UsageProblem, match="mine"):
        async with yard.hands() as hands:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            await workspace.start_command("call", ShellCommand(line="sleep 99"))
            raise UsageProblem("mine")


async def test_cancelling_around_the_hands_ends_every_command(yard: Any, living: Any) -> None:
    with anyio.move_on_after(1) as scope:
        async with yard.hands() as hands:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            await run_command(workspace, ShellCommand(line="sleep 985.4"))
    assert scope.cancelled_caught
    assert living("985.4") == []


async def test_an_unknown_commit_is_an_environment_problem(hands: LocalHands) -> None:
    with pytest.raises(EnvironmentProblem, match="No workspace could be prepared at 0123456789ab"):
        await hands.open_workspace("0123456789abcdef0123456789abcdef01234567", Purpose("test"))


async def test_tier_0_offers_files_and_refuses_commands(yard: Any) -> None:
    async with yard.hands(SandboxGrant(tier=Tier.FILES)) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        assert hands.refusal_reason == "Commands are refused: the policy grants tier 0, files only."
        with pytest.raises(EnvironmentProblem, match="tier 0, files only"):
            await workspace.start_command("call", ShellCommand(line="true"))
        await workspace.write_file("new", b"x")
        assert await workspace.list_paths() == (".gitignore", "README.md", "new", "pkg/__init__.py")


async def test_the_environment_hash_is_stable_and_follows_policy_and_tool_chains(yard: Any) -> None:
    async def environment(grant: SandboxGrant | None = None) -> str:
        async with yard.hands(grant) as hands:
            return str(hands.environment_hash)

    plain = await environment()
    assert plain == await environment()
    assert plain != await environment(SandboxGrant(env={"A": "1"}))
    (yard.repo / ".venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    shared = await environment()
    (yard.repo / ".venv" / "lib" / "python3.11" / "site-packages" / "new").mkdir()
    assert len({plain, shared, await environment()}) == 3


async def test_the_policy_is_described_in_words(hands: LocalHands) -> None:
    assert hands.policy_summary["tier"] == "1 (commands without network)"
    assert hands.policy_summary["commands"].startswith("run, ")
    assert hands.policy_summary["program"].startswith("bubblewrap ")
    assert hands.policy_summary["self-test"].startswith("passed")
    assert all(isinstance(text, str) and text for text in hands.policy_summary.values())


async def test_a_missing_directory_is_reported_when_hands_are_made(yard: Any) -> None:
    with pytest.raises(UsageProblem, match=r"given as '~/nope' in --read-only"):
        async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path="~/nope", origin="--read-only"),))):
            pass


async def test_an_unusable_state_directory_is_an_environment_problem(yard: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    broken = type(yard)(yard.repo, yard.home, tmp_path / "file")
    with pytest.raises(EnvironmentProblem, match="state directory"):
        async with broken.hands():
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")
async def test_started_by_root_commands_run_as_the_granted_user_who_owns_the_files(yard: Any, shell_in: Any) -> None:
    async with yard.hands(SandboxGrant(uid=4242)) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "id -u; id -g; stat -c %u README.md .git .git/config; touch made")
        uid = str(workspace.world.uid)
        await workspace.write_file("written/deep", b"x")
    assert ran.output.split() == [uid] * 5
    assert uid != "4242"  # a name of its own for the user, in a user namespace
    assert {(workspace.root / n).stat().st_uid for n in ("made", "written", "written/deep")} == {4242}


async def test_files_are_found_by_glob_and_by_content(workspace: LocalWorkspace) -> None:
    await workspace.write_file("src/a.py", b"import os\nimport sys\n")
    assert await workspace.list_paths("**/*.py") == ("pkg/__init__.py", "src/a.py")
    assert await workspace.search_text("^import (os|re)$", "**", 10) == ("src/a.py:1:import os",)
    with pytest.raises(ToolRefused):
        await workspace.search_text("(", "**", 10)
    with pytest.raises(ToolRefused):
        await workspace.list_paths("../*")


async def test_commands_that_are_given_up_leave_no_descriptor_open(workspace: LocalWorkspace) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for number in range(4):
        await workspace.start_command(f"call{number}", ShellCommand(line="sleep 99", output_bytes=100))
        while count() <= before:
            assert await workspace.wait_for_result(f"call{number}", 0.05) is None
        assert await workspace.wait_for_result(f"call{number}", 0.1) is None
        await workspace.kill_command(f"call{number}")
    assert count() <= before + 2  # what an event loop keeps


async def test_a_checkout_that_a_command_closed_to_its_user_serves_the_next_command_and_the_next_workspace(
    hands: LocalHands, workspace: LocalWorkspace
) -> None:
    await run_command(workspace, ShellCommand(line="chmod 000 ."))
    assert (await run_command(workspace, ShellCommand(line="touch x; chmod 000 ."))).exit_code == 0
    name, commit = workspace.name, CommitId(workspace._worktree.commit)
    await workspace.close()
    again = await hands.open_workspace(commit, Purpose("again"))
    assert again.name == name
    assert (await run_command(again, ShellCommand(line="test ! -e x"))).exit_code == 0


async def test_a_pattern_that_would_take_gigabytes_to_compile_is_refused(workspace: LocalWorkspace) -> None:
    with pytest.raises(ToolRefused):
        await workspace.search_text("((((a{1,200}){1,200}){1,200}){1,200}){1,200}", "**", 10)
    assert await workspace.search_text(".", "**", 1)
