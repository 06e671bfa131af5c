"""What a command is and is not: output, endings, limits, surroundings."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.errors import ToolRefused
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.hands.policy import CommandLimits, SandboxGrant
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandEnding, ShellCommand
from orchestrator.redact.redactor import Redactor

pytestmark = pytest.mark.sandbox

SECRET = "canary-4711"

BOMB = """
import os, time
n = 0
try:
    while n < 200:
        n += 1
        if os.fork() == 0:
            time.sleep(60)
except OSError:
    print(n)
"""


@pytest.mark.conformance
async def test_output_and_errors_come_in_the_order_written(shell: Any) -> None:
    ran = await shell("echo one; echo two >&2; echo three")
    assert (ran.output, ran.exit_code, ran.result.output_bytes) == ("one\ntwo\nthree\n", 0, 14)
    assert ran.result.is_success


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 3", 3), ("nosuchcommand", 127), ("kill -SEGV $$", 139), ("sleep 9 & kill -TERM $!; wait $!", 143)],
)
async def test_the_exit_code_is_what_a_shell_reports(shell: Any, line: str, code: int) -> None:
    assert (await shell(line)).exit_code == code


async def test_the_shell_is_bash_without_the_users_files(shell: Any, yard: Any) -> None:
    (yard.home / ".bashrc").write_text("echo rc\n")
    (yard.home / ".bash_profile").write_text("echo profile\n")
    ran = await shell('[[ abc == a* ]] && echo "${BASH_VERSION:+bash}"')
    assert ran.output == "bash\n"


async def test_a_command_runs_where_it_is_told(shell: Any, yard: Any) -> None:
    assert (await shell("pwd; ls", cwd="pkg")).output == f"{yard.repo}/pkg\n__init__.py\n"
    gone = await shell("echo never", cwd="nope")
    assert gone.exit_code == 1
    assert "nope: No such file or directory" in gone.output


@pytest.mark.conformance
async def test_variables_are_a_short_fixed_list_and_those_asked_for(shell: Any, workspace: Any) -> None:
    ran = await shell("env | cut -d= -f1 | sort", env={"MINE": "1"})
    names = "CI HOME LANG LOGNAME MINE PATH PWD PYTHONHASHSEED SHELL SHLVL TERM TMPDIR USER _"
    assert " ".join(ran.output.split()) == names
    assert (await shell('echo "$HOME $TERM $LANG $MINE"', env={"MINE": "a b"})).output == (
        f"{workspace.world.home} dumb C.UTF-8 a b\n"
    )


@pytest.mark.conformance
async def test_the_user_inside_has_a_name_a_home_and_no_rights(shell: Any, workspace: Any) -> None:
    ran = await shell(
        "id -un && [ $(id -u) != 0 ] && getent passwd $(id -u) | cut -d: -f6; hostname; grep CapEff /proc/1/status"
    )
    name, home, host, capabilities = ran.output.splitlines()
    world = workspace.world
    assert (name != "", home, host, capabilities.split()[1]) == (True, world.home, world.host, "0" * 16)


@pytest.mark.conformance
async def test_home_and_tmp_are_empty_writable_and_of_limited_size(yard: Any, shell_in: Any) -> None:
    grant = SandboxGrant(limits=CommandLimits(tmpfs_bytes=4 * 1024**2))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(
            workspace, "ls -A ~; for d in ~ /tmp /dev/shm; do head -c 8M /dev/zero > $d/f; wc -c < $d/f; done"
        )
    sizes = [line for line in ran.output.splitlines() if line.isdigit()]
    assert sizes == [str(4 * 1024**2)] * 3
    assert ran.output.count("No space left on device") == 3


@pytest.mark.conformance
async def test_nothing_else_of_the_file_system_is_writable(shell: Any) -> None:
    ran = await shell(
        "for d in / /etc /usr /dev /proc /run /home /var; do touch $d/x 2>/dev/null && echo $d; done; true"
    )
    assert ran.output == ""


@pytest.mark.conformance
async def test_scripts_may_open_their_error_output_by_its_name(shell: Any) -> None:
    assert (
        await shell("echo one; echo two > /dev/stderr; echo three | tee /dev/stderr >/dev/null; echo four")
    ).output == ("one\ntwo\nthree\nfour\n")


@pytest.mark.conformance
async def test_a_command_reads_what_it_is_given(shell: Any) -> None:
    told = "ä" * 300_000
    assert (await shell("wc -m", stdin=told)).output.strip() == "300000"
    assert (await shell("cat /dev/stdin", stdin="again")).output == "again"


async def test_standard_input_is_empty(shell: Any) -> None:
    assert (await shell("wc -c")).output.strip() == "0"


@pytest.mark.conformance
async def test_a_hanging_command_is_ended_at_its_time_limit(shell: Any, living: Callable[[str], list[int]]) -> None:
    ran = await shell("sleep 987.1", timeout_s=0.3)
    assert (ran.result.ending, ran.exit_code) == (CommandEnding.TIMED_OUT, None)
    assert 0.3 <= ran.result.seconds < 60
    assert living("987.1") == []


async def test_output_before_a_time_limit_is_kept(shell: Any) -> None:
    assert (await shell("echo early; sleep 99", timeout_s=3)).output == "early\n"


@pytest.mark.conformance
@pytest.mark.parametrize("line", ["yes", "head -c 100000000 /dev/zero | tr '\\0' x; sleep 99", "cat /dev/zero"])
async def test_too_much_output_ends_the_command_and_is_cut_at_the_limit(shell: Any, line: str) -> None:
    ran = await shell(line, output_bytes=3_000_000)
    assert (ran.result.ending, ran.exit_code) == (CommandEnding.OUTPUT_LIMIT, None)
    assert ran.result.output_bytes == ran.result.log.stat().st_size == 3_000_000
    assert ran.result.seconds < 15


async def test_a_hundred_megabytes_are_taken_where_the_limit_allows(yard: Any, shell_in: Any) -> None:
    grant = SandboxGrant(limits=CommandLimits(output_bytes=200_000_000))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        result = (await shell_in(workspace, "head -c 100000000 /dev/zero", output_bytes=200_000_000)).result
    assert (result.ending, result.output_bytes, result.log.stat().st_size) == (
        CommandEnding.EXITED,
        100_000_000,
        100_000_000,
    )


async def test_output_of_exactly_the_limit_is_no_offence(shell: Any) -> None:
    ran = await shell("head -c 5000 /dev/zero", output_bytes=5000)
    assert (ran.result.ending, ran.result.output_bytes) == (CommandEnding.EXITED, 5000)


async def test_any_bytes_may_be_printed(shell: Any) -> None:
    ran = await shell(r"printf 'a\0\xff\xfe\x1b[2J'")
    assert ran.result.log.read_bytes() == b"a\0\xff\xfe\x1b[2J"


@pytest.mark.conformance
async def test_a_child_in_the_background_neither_delays_the_result_nor_outlives_it(
    shell: Any, living: Callable[[str], list[int]]
) -> None:
    ran = await shell("sleep 987.2 & (setsid sleep 987.3 &) ; echo main")
    assert (ran.output, ran.exit_code) == ("main\n", 0)
    assert ran.result.seconds < 15
    assert living("987.2") + living("987.3") == []


@pytest.mark.conformance
async def test_nothing_writes_to_the_workspace_after_the_result(shell: Any, workspace: LocalWorkspace) -> None:
    await shell("(trap '' TERM HUP; while :; do date +%N > beat; done) & sleep 0.1")
    then = (workspace.root / "beat").read_bytes()
    await anyio.sleep(0.05)
    assert (workspace.root / "beat").read_bytes() == then


@pytest.mark.conformance
async def test_processes_are_limited_per_sandbox(yard: Any, shell_in: Any) -> None:
    grant = SandboxGrant(limits=CommandLimits(processes=30))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"python3 -c '{BOMB}'")
    assert 10 < int(ran.output) < 30


@pytest.mark.conformance
async def test_memory_and_file_sizes_are_limited(yard: Any, shell_in: Any) -> None:
    grant = SandboxGrant(limits=CommandLimits(address_space_bytes=300 * 1024**2, file_bytes=1_000_000))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        memory = await shell_in(workspace, "python3 -c 'bytearray(400 * 1024**2)'")
        file = await shell_in(workspace, "head -c 5000000 /dev/zero > big; wc -c < big; ulimit -c")
    assert "MemoryError" in memory.output
    assert file.output.splitlines()[-2:] == ["1000000", "0"]


@pytest.mark.conformance
async def test_a_sandbox_is_the_first_to_go_when_memory_runs_out(shell: Any, outside: Callable[..., str]) -> None:
    ours = outside("cat /proc/self/oom_score_adj")
    assert int((await shell("cat /proc/self/oom_score_adj")).output) >= 500
    assert outside("cat /proc/self/oom_score_adj") == ours


@pytest.mark.parametrize(
    "command",
    [
        ShellCommand(line="echo \0"),
        ShellCommand(line="echo \ud800"),
        ShellCommand(line="true", env={"A=B": "1"}),
        ShellCommand(line="true", env={"A": "\0"}),
        ShellCommand(line="true", env={"": "1"}),
        ShellCommand(line="true", files={"OUT": "../x"}),
        ShellCommand(line="true", files={"OUT": "a/b"}),
    ],
)
async def test_what_no_shell_can_be_given_is_refused(workspace: LocalWorkspace, command: ShellCommand) -> None:
    with pytest.raises(ToolRefused):
        await workspace.start_command("call", command)


@pytest.mark.conformance
async def test_a_command_line_longer_than_the_kernel_takes_is_not_started_and_says_so(shell: Any) -> None:
    ran = await shell("true " + "x" * 200_000)
    assert ran.result.ending == CommandEnding.NOT_STARTED
    assert "Argument list too long" in ran.result.detail


@pytest.mark.conformance
async def test_files_are_handed_back_from_outside_the_workspace(shell: Any, workspace: LocalWorkspace) -> None:
    line = 'echo "<xml>" > "$REPORT"; ln -s /etc/passwd "$LINK"; mkdir "$FOLDER"; ls'
    files = {"REPORT": "report.xml", "LINK": "link", "FOLDER": "folder", "MISSING": "missing"}
    ran = await shell(line, files=files)
    assert ran.result.files == {"REPORT": b"<xml>\n"}
    assert ran.output.split() == ["README.md", "pkg"]
    assert not list(workspace.root.rglob("report.xml"))


async def test_files_too_large_to_hand_back_are_left_out(shell: Any) -> None:
    ran = await shell('truncate -s 65M "$BIG"; echo x > "$SMALL"', files={"BIG": "a", "SMALL": "b"})
    assert ran.result.files == {"SMALL": b"x\n"}


@pytest.mark.conformance
async def test_a_read_only_workspace_cannot_be_written_to(shell: Any, workspace: LocalWorkspace) -> None:
    ran = await shell("echo x > new; echo x >> README.md; mkdir d; rm README.md; git status --short", writable=False)
    assert ran.output.count("Read-only file system") == 4
    assert (workspace.root / "README.md").read_text() == "hello\n"
    assert not (workspace.root / "new").exists()
    assert (await shell("echo x > new && cat new")).output == "x\n"


@pytest.mark.attack(8)
@pytest.mark.conformance
async def test_no_descriptor_is_inherited(shell: Any, tmp_path: Path, outside: Callable[..., str]) -> None:
    (tmp_path / "secret").write_text(SECRET)
    number = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(number, True)
    try:
        attack = f"cat <&{number}; for f in /proc/self/fd/*; do echo ${{f##*/}}; done"
        assert SECRET in outside(attack, close_fds=False)
        os.lseek(number, 0, os.SEEK_SET)
        ran = await shell(attack)
    finally:
        os.close(number)
    assert SECRET not in ran.output
    assert {line for line in ran.output.splitlines() if line.isdigit()} <= {"0", "1", "2", "3"}


async def test_a_known_secret_is_gone_from_the_log_before_anybody_reads_it(yard: Any) -> None:
    known = Redactor({"SOME_TOKEN": "k7x-Vb7xWp-Tq93"})
    line = "printf '%65530s' ''; a=k7x-; echo ${a}Vb7xWp-Tq93; seq 20000"
    async with yard.hands(redactor=known) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        result = await run_command(workspace, ShellCommand(line=line, timeout_s=20))
        told = result.log.read_text()
        assert "Vb7x" not in told
        assert told.lstrip().startswith("[redacted:SOME_TOKEN]\n1\n2\n") and told.endswith("\n20000\n")
        assert "k7x" not in read_log_ends(result.log), "its middle is cut out there, which would leave a half"
        await workspace.close()
