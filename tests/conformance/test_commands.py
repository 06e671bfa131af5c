"""Commands on any kind of hands: started once, waited for in short waits, dead when that is said."""

import hashlib
import random
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ToolRefused
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace
from orchestrator.redact.redactor import Redactor

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox]

Living = Callable[[str], list[int]]


async def wait_until_over(workspace: Workspace, call_id: str) -> CommandResult:
    with anyio.fail_after(120):
        while (result := await workspace.wait_for_result(call_id)) is None:
            pass
    return result


async def wait_until_printed(workspace: Workspace, call_id: str) -> None:
    with anyio.fail_after(60):
        while not (await workspace.read_output(call_id, 100)).content:
            assert await workspace.wait_for_result(call_id, 0.02) is None


async def test_a_call_that_is_started_again_is_one_command_with_one_result(workspace: Workspace) -> None:
    for _ in range(3):
        await workspace.start_command("call", ShellCommand(line="echo x >> count; sleep 0.1"))
    first = await wait_until_over(workspace, "call")
    await workspace.start_command("call", ShellCommand(line="echo y >> count"))
    assert await wait_until_over(workspace, "call") == first
    assert await workspace.read_file("count") == b"x\n"


async def test_a_call_that_is_started_from_many_sides_at_once_is_one_command(workspace: Workspace) -> None:
    results = []

    async def ask_too() -> None:
        await workspace.start_command("call", ShellCommand(line="echo x >> count; seq 3"))
        results.append(await wait_until_over(workspace, "call"))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask_too)
    assert await workspace.read_file("count") == b"x\n"
    assert {(result.exit_code, result.log.read_bytes()) for result in results} == {(0, b"1\n2\n3\n")}


async def test_a_wait_is_short_and_tells_that_the_command_still_runs(workspace: Workspace) -> None:
    await workspace.start_command("call", ShellCommand(line="echo first; sleep 99"))
    await wait_until_printed(workspace, "call")
    with anyio.fail_after(5):
        assert await workspace.wait_for_result("call", 0) is None
        assert await workspace.wait_for_result("call", 0.05) is None
        await workspace.kill_command("call")
        result = await workspace.wait_for_result("call", 0.05)
    assert result is not None
    assert (result.ending, result.exit_code, result.log.read_bytes()) == (CommandEnding.KILLED, None, b"first\n")


@pytest.mark.extended
async def test_no_wait_is_longer_than_ten_seconds(workspace: Workspace) -> None:
    await workspace.start_command("call", ShellCommand(line="sleep 99"))
    began = anyio.current_time()
    assert await workspace.wait_for_result("call", 60) is None
    assert 9 < anyio.current_time() - began < 12


async def test_waiting_for_a_call_that_was_never_started_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(ValueError, match="no command was started as 'x'"):
        await workspace.wait_for_result("x")


async def test_output_of_a_call_that_was_never_started_is_an_error_and_ends_nothing_else(
    workspace: Workspace, run: Any
) -> None:
    with pytest.raises(ValueError, match="no command was started as 'x'"):
        await workspace.read_output("x", 10)
    assert (await run("echo on")).output == "on\n"


async def test_whoever_waits_hears_of_a_close(hands: Any, head: Any) -> None:
    workspace = await hands.open_workspace(head, Purpose("test"))
    await workspace.start_command("call", ShellCommand(line="echo first; sleep 99"))
    await wait_until_printed(workspace, "call")
    heard = []

    async def wait_too() -> None:
        heard.append(await workspace.wait_for_result("call"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait_too)
        await anyio.sleep(0.1)
        with anyio.fail_after(8):
            await workspace.close()
    (result,) = heard
    assert result is not None
    assert (result.ending, result.log.read_bytes()) == (CommandEnding.KILLED, b"first\n")


async def test_a_killed_command_is_dead_with_its_children_when_kill_returns(
    workspace: Workspace, living: Living, nap: str
) -> None:
    line = f"sleep {nap} & (setsid sleep {nap} &); echo up; wait"
    await workspace.start_command("call", ShellCommand(line=line))
    await wait_until_printed(workspace, "call")
    assert len(living(nap)) > 0
    await workspace.kill_command("call")
    assert living(nap) == []
    await workspace.kill_command("call")
    await workspace.kill_command("never started")


@pytest.mark.parametrize("after_s", [0, 0.003, 0.02, 0.3])
async def test_whoever_is_cancelled_while_a_command_runs_leaves_none_of_it(
    workspace: Workspace, living: Living, nap: str, after_s: float
) -> None:
    with anyio.move_on_after(after_s) as scope:
        await run_command(workspace, ShellCommand(line=f"sleep {nap}", timeout_s=300))
    assert scope.cancelled_caught
    await anyio.sleep(0.3)
    assert living(nap) == []


async def test_a_child_in_the_background_neither_delays_the_result_nor_outlives_it(
    run: Any, living: Living, nap: str
) -> None:
    found = await run(f"sleep {nap} & (setsid sleep {nap} &) ; echo main")
    assert (found.output, found.exit_code) == ("main\n", 0)
    assert found.result.seconds < 15
    assert living(nap) == []


async def test_interrupting_ends_all_but_what_runs_in_the_background(workspace: Workspace) -> None:
    for call_id in ("one", "two"):
        await workspace.start_command(call_id, ShellCommand(line=f"echo {call_id}; sleep 99"))
        await wait_until_printed(workspace, call_id)
    background = ShellCommand(line="echo back; sleep 99", is_background=True, writable=False)
    await workspace.start_command("back", background)
    await wait_until_printed(workspace, "back")
    await workspace.interrupt_commands()
    for call_id in ("one", "two"):
        result = await wait_until_over(workspace, call_id)
        assert (result.ending, result.log.read_text()) == (CommandEnding.KILLED, f"{call_id}\n")
    assert await workspace.wait_for_result("back", 0.05) is None


async def test_commands_of_one_workspace_may_overlap(workspace: Workspace) -> None:
    await workspace.start_command("a", ShellCommand(line="until [ -e go ]; do sleep 0.01; done; echo a", timeout_s=60))
    await workspace.start_command("b", ShellCommand(line="touch go; echo b"))
    assert (await wait_until_over(workspace, "b")).log.read_text() == "b\n"
    assert (await wait_until_over(workspace, "a")).log.read_text() == "a\n"


@pytest.mark.extended
async def test_a_killed_command_leaves_its_slot_to_the_next_one(open_hands: Any, head: Any) -> None:
    async with open_hands(slots=1) as opened:
        workspace = await opened.hands.open_workspace(head, Purpose("test"))
        for call_id, line in (("a", "sleep 99"), ("b", "sleep 99"), ("c", "echo last")):
            await workspace.start_command(call_id, ShellCommand(line=line))
        assert await workspace.wait_for_result("c", 0.2) is None
        await workspace.kill_command("b")  # it never ran
        await workspace.kill_command("a")
        assert (await wait_until_over(workspace, "c")).log.read_text() == "last\n"
        assert (await wait_until_over(workspace, "b")).ending == CommandEnding.KILLED
        await workspace.close()


async def test_the_end_of_what_a_command_prints_is_read_while_it_runs_and_once_it_is_over(workspace: Workspace) -> None:
    line = r"printf '0123456789\377'; until test -e go; do sleep 0.02; done; printf '\0end'"
    await workspace.start_command("call", ShellCommand(line=line))
    await wait_until_printed(workspace, "call")
    found = await workspace.read_output("call", 4)
    assert (found.content, found.is_cut) == (b"789\xff", True)
    assert await workspace.wait_for_result("call", 0) is None
    await workspace.write_file("go", b"")
    await wait_until_over(workspace, "call")
    found = await workspace.read_output("call", 100)
    assert (found.content, found.is_cut) == (b"0123456789\xff\0end", False)


@pytest.mark.parametrize(
    ("line", "code"),
    [("true", 0), ("exit 3", 3), ("nosuchcommand", 127), ("kill -SEGV $$", 139)],
)
async def test_the_exit_code_is_what_a_shell_reports(run: Any, line: str, code: int) -> None:
    found = await run(line)
    assert (found.result.ending, found.exit_code, found.result.is_success) == (CommandEnding.EXITED, code, code == 0)


async def test_output_and_errors_are_in_one_log_of_this_machine_in_the_order_written(run: Any) -> None:
    found = await run("echo one; echo two >&2; echo three")
    assert (found.output, found.result.output_bytes) == ("one\ntwo\nthree\n", 14)
    assert 0 < found.result.seconds < 60
    assert found.result.detail == ""


@pytest.mark.parametrize("size", [0, 1024**2, pytest.param(20 * 1024**2 + 1, marks=pytest.mark.extended)])
async def test_a_log_holds_all_that_was_printed(run: Any, size: int) -> None:
    line = f"python3 -c 'import random, sys; random.seed(7); sys.stdout.buffer.write(random.randbytes({size}))'"
    result = (await run(line)).result
    wanted = random.Random(7).randbytes(size)
    assert (result.ending, result.output_bytes, result.log.stat().st_size) == (CommandEnding.EXITED, size, size)
    assert hashlib.sha256(result.log.read_bytes()).digest() == hashlib.sha256(wanted).digest()


@pytest.mark.extended
async def test_a_command_that_takes_too_long_keeps_what_it_printed(run: Any, living: Living, nap: str) -> None:
    found = await run(f"echo early; sleep {nap}", timeout_s=2)
    assert (found.result.ending, found.exit_code, found.output) == (CommandEnding.TIMED_OUT, None, "early\n")
    assert 2 <= found.result.seconds < 60
    assert living(nap) == []


async def test_too_much_output_ends_the_command_and_is_cut_at_the_limit(run: Any) -> None:
    result = (await run("yes", output_bytes=1_500_000)).result
    assert (result.ending, result.exit_code) == (CommandEnding.OUTPUT_LIMIT, None)
    assert result.output_bytes == result.log.stat().st_size == 1_500_000


async def test_a_command_that_cannot_be_started_says_why(run: Any) -> None:
    result = (await run("true " + "x" * 200_000)).result
    assert (result.ending, result.exit_code) == (CommandEnding.NOT_STARTED, None)
    assert "Argument list too long" in result.detail


async def test_files_are_handed_back_as_bytes(run: Any) -> None:
    line = (
        r"""printf '\377\0<x>' > "$REPORT"; ln -s /etc/passwd "$LINK"; mkdir "$FOLDER"; : > "$EMPTY"; git status -s"""
    )
    files = {"REPORT": "report.xml", "LINK": "link", "FOLDER": "folder", "EMPTY": "empty", "MISSING": "missing"}
    found = await run(line, files=files)
    assert found.result.files == {"REPORT": b"\xff\0<x>", "EMPTY": b""}
    assert found.output == ""


async def test_a_large_file_is_handed_back_and_one_that_is_too_large_is_not(run: Any) -> None:
    line = 'head -c 9000000 /dev/zero | tr "\\0" x > "$LARGE"; truncate -s 65M "$HUGE"; echo x > "$SMALL"'
    result = (await run(line, files={"LARGE": "l", "HUGE": "h", "SMALL": "s"})).result
    assert result.files == {"LARGE": b"x" * 9_000_000, "SMALL": b"x\n"}


async def test_a_command_reads_what_it_is_given_and_else_nothing(run: Any) -> None:
    assert (await run("wc -m", stdin="ä" * 300_000)).output.strip() == "300000"
    assert (await run("wc -c")).output.strip() == "0"


async def test_variables_keep_every_character(run: Any) -> None:
    odd = {"A": "a b  c", "B": "'\"$HOME`id`\\", "C": "ä\n\té\u200b", "D": ""}
    found = await run(r"""printf '%s\0' "$A" "$B" "$C" "${D-unset}" """, env=odd)
    assert found.output.split("\0") == [*odd.values(), ""]


async def test_a_command_runs_where_it_is_told(run: Any, yard: Any) -> None:
    assert (await run("pwd; ls", cwd="pkg")).output == f"{yard.repo}/pkg\n__init__.py\nmoney.py\n"
    gone = await run("echo never", cwd="nope")
    assert gone.exit_code == 1
    assert "nope: No such file or directory" in gone.output


async def test_a_workspace_that_is_not_writable_stays_as_it_is(run: Any, workspace: Workspace) -> None:
    found = await run("echo x > new; echo x >> README.md; mkdir d; rm README.md; cat README.md", writable=False)
    assert found.output.count("Read-only file system") == 4
    assert found.output.endswith("hello\n")
    assert await workspace.read_file("README.md") == b"hello\n"
    assert (await run("echo x > new && cat new")).output == "x\n"


async def test_files_that_a_watched_command_opened_and_wrote_are_named(run: Any) -> None:
    line = "cat pkg/money.py >/dev/null; cd tests && cat data/golden.json >made; echo x > test_x.py; rm ../README.md"
    result = (await run(line, is_watched=True)).result
    assert result.opened == ("pkg/money.py", "tests/data/golden.json", "tests/test_x.py")
    assert result.written == ("README.md", "tests/test_x.py")


async def test_a_command_that_nobody_wants_watched_is_not(run: Any) -> None:
    result = (await run("cat pkg/money.py")).result
    assert (result.opened, result.written) == (None, None)


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (Tier.FILES, "Commands are refused at tier 0, files only."),
        (
            Tier.EVERYTHING,
            "Commands at tier 3 (commands with the whole network) are not to be had here; the highest is 1.",
        ),
    ],
)
async def test_a_tier_that_nobody_granted_is_refused(workspace: Workspace, tier: Tier, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        await workspace.start_command("call", ShellCommand(line="true", tier=tier))
    assert str(refused.value) == words
    await workspace.start_command("call", ShellCommand(line="true"))
    assert (await wait_until_over(workspace, "call")).is_success


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (ShellCommand(line="echo \0"), "The command holds a NUL character, which no shell takes; leave it out."),
        (ShellCommand(line="true", env={"A=B": "1"}), "'A=B' is no name for an environment variable."),
        (ShellCommand(line="true", env={"": "1"}), "'' is no name for an environment variable."),
        (ShellCommand(line="true", files={"OUT": "../x"}), "'../x' is no plain file name."),
    ],
    ids=["nul", "name", "empty-name", "path"],
)
async def test_what_no_shell_can_be_given_is_refused(workspace: Workspace, command: ShellCommand, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        await workspace.start_command("call", command)
    assert str(refused.value) == words


async def test_text_that_cannot_be_encoded_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ToolRefused, match="cannot be encoded"):
        await workspace.start_command("call", ShellCommand.model_construct(line="echo \ud800"))


async def test_a_known_secret_is_in_no_log(open_hands: Any, head: Any, run_in: Any) -> None:
    known = Redactor({"SOME_TOKEN": "k7x-Vb7xWp-Tq93"})
    async with open_hands(redactor=known) as opened:
        workspace = await opened.hands.open_workspace(head, Purpose("test"))
        printed = (await run_in(workspace, "a=k7x-; echo ${a}Vb7xWp-Tq93; seq 3")).output
        await workspace.close()
    assert printed == "[redacted:SOME_TOKEN]\n1\n2\n3\n"


async def test_every_command_of_a_workspace_sees_the_same_world(run: Any) -> None:
    first, second = [(await run("hostname; id -un; echo $HOME")) for _ in range(2)]
    assert first.output == second.output
    assert first.result.world == second.result.world
    assert first.result.world is not None
