"""Programs that are spoken with: pipes, what they are granted, and that nothing of them is left."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, ProgramGone, ToolRefused
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandEnding, ShellCommand
from orchestrator.ports.processes import HostGrant, LentFile, ProgramGrant

pytestmark = pytest.mark.sandbox

SOURCE = Path(__file__).parents[3]


async def read_all(pipes: Any) -> bytes:
    found = b""
    while chunk := await pipes.receive_bytes():
        found += chunk
    return found


class _Greeter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_in_background() -> Iterator[tuple[str, ...]]:
    """Two servers on loopback; their `host:port`."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _Greeter) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield tuple(f"127.0.0.1:{server.server_address[1]}" for server in servers)
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


async def test_the_end_of_what_a_command_prints_is_read_while_it_runs_and_once_it_is_over(
    workspace: LocalWorkspace,
) -> None:
    await workspace.start_command("c", ShellCommand(line="printf 0123456789; until test -e go; do sleep 0.05; done"))
    with anyio.fail_after(20):
        while not (found := await workspace.read_output("c", 4)).content:
            assert await workspace.wait_for_result("c", 0.02) is None
    assert (found.content, found.is_cut) == (b"6789", True)
    assert await workspace.wait_for_result("c", 0) is None
    await workspace.write_file("go", b"")
    while await workspace.wait_for_result("c") is None:
        pass
    found = await workspace.read_output("c", 10)
    assert (found.content, found.is_cut) == (b"0123456789", False)


@pytest.mark.conformance
async def test_a_program_is_spoken_with_by_pipes_and_its_errors_are_in_its_log(workspace: LocalWorkspace) -> None:
    line = "while read -r word; do echo got:$word; echo oops:$word >&2; done; exit 3"
    pipes = await workspace.open_process("p", ShellCommand(line=line))
    await pipes.send_bytes(b"one\n")
    assert await pipes.receive_bytes() == b"got:one\n"
    await pipes.send_bytes(b"two\n")
    await pipes.close_input()
    assert await read_all(pipes) == b"got:two\n"
    result = await workspace.wait_for_result("p")
    assert result is not None
    assert (result.ending, result.exit_code) == (CommandEnding.EXITED, 3)
    assert result.log.read_text() == "oops:one\noops:two\n"


async def test_a_program_that_prints_more_than_anybody_reads_waits_and_ends_with_its_workspace(
    workspace: LocalWorkspace,
) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="yes; echo never >&2", is_background=True))
    assert await pipes.receive_bytes(2) == b"y\n"
    await workspace.close()
    result = await workspace.wait_for_result("p")
    assert result is not None
    assert result.ending == CommandEnding.KILLED
    assert await pipes.receive_bytes() == b""


async def test_a_program_that_has_ended_takes_nothing_more(workspace: LocalWorkspace) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="true"))
    assert await read_all(pipes) == b""
    with pytest.raises(ProgramGone):
        await pipes.send_bytes(b"hello\n" * 100_000)


async def test_programs_in_the_background_take_no_place_from_commands(workspace: LocalWorkspace, shell: Any) -> None:
    for number in range(8):
        await workspace.open_process(f"p{number}", ShellCommand(line="cat", is_background=True, writable=False))
    with anyio.fail_after(30):
        assert (await shell("echo on")).output == "on\n"
    await workspace.interrupt_commands()
    assert await workspace.wait_for_result("p0", 0.05) is None


async def test_closing_a_workspace_leaves_nothing_that_a_program_started(
    workspace: LocalWorkspace, living: Callable[[str], list[int]]
) -> None:
    line = "(setsid sleep 984.7 &) ; sleep 984.7 & echo up; exec cat"
    pipes = await workspace.open_process("p", ShellCommand(line=line, is_background=True))
    assert await pipes.receive_bytes() == b"up\n"
    assert len(living("984.7")) >= 2
    await workspace.close()
    assert living("984.7") == []


async def test_a_granted_variable_is_seen_inside_and_stands_in_no_argument_list(
    workspace: LocalWorkspace, living: Callable[[str], list[int]]
) -> None:
    grant = ProgramGrant(secrets={"TOOL_KEY": "sk-unseen-4711"})
    pipes = await workspace.open_process("p", ShellCommand(line='echo "$TOOL_KEY"; cat', grant=grant))
    assert await pipes.receive_bytes() == b"sk-unseen-4711\n"
    assert living("sk-unseen-4711") == []
    assert living(str(workspace.root)) != []  # the control: its sandbox is there, with its arguments
    await workspace.kill_command("p")


async def test_another_command_sees_nothing_of_a_grant(workspace: LocalWorkspace, shell: Any) -> None:
    grant = ProgramGrant(secrets={"TOOL_KEY": "sk-unseen-4711"})
    await workspace.open_process("p", ShellCommand(line="cat", grant=grant, is_background=True))
    found = await shell("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "PATH=" in found.output
    assert "sk-unseen" not in found.output


async def test_lent_files_are_there_read_only_or_as_copies(workspace: LocalWorkspace, yard: Any) -> None:
    (yard.home / ".tool").mkdir()
    for name in ("key", "session"):
        (yard.home / ".tool" / name).write_text(f"{name}-text\n")
        (yard.home / ".tool" / name).chmod(0o600)
    key = LentFile(source=str(yard.home / ".tool/key"), place=".tool/key")
    session = LentFile(source=str(yard.home / ".tool/session"), place=".tool/session", is_writable=True)
    line = "cd ~/.tool && cat key session && (echo x > key) 2>/dev/null || echo new > session && cat session"
    grant = ProgramGrant(files=(key, session))
    pipes = await workspace.open_process("p", ShellCommand(line=line, grant=grant))
    assert await read_all(pipes) == b"key-text\nsession-text\nnew\n"
    assert (yard.home / ".tool/key").read_text() == "key-text\n"
    assert (yard.home / ".tool/session").read_text() == "session-text\n"


async def test_granted_directories_are_seen_and_their_programs_found(
    workspace: LocalWorkspace, tmp_path: Path, shell: Any
) -> None:
    program = tmp_path / "tools" / "bin" / "greet"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    grant = ProgramGrant(read_only=(str(tmp_path / "tools"),))
    pipes = await workspace.open_process("p", ShellCommand(line="greet", grant=grant))
    assert await read_all(pipes) == b"hello\n"
    assert (await shell("greet")).exit_code == 127


async def test_a_directory_that_holds_credentials_is_not_granted(workspace: LocalWorkspace, yard: Any) -> None:
    grant = ProgramGrant(read_only=(str(yard.home),))
    with pytest.raises(EnvironmentProblem, match="your home directory"):
        await workspace.open_process("p", ShellCommand(line="true", grant=grant))


async def test_a_program_reaches_its_own_hosts_and_no_other(workspace: LocalWorkspace) -> None:
    with serve_in_background() as (own, other):
        grant = ProgramGrant(hosts=HostGrant(hosts=(own,), private=(own,), plain=(own,)))
        line = f"for at in {own} {other}; do curl -s -m 20 -o /dev/null -w '%{{http_code}}\\n' http://$at/; done"
        pipes = await workspace.open_process("p", ShellCommand(line=line, grant=grant, tier=Tier.REGISTRIES))
        assert await read_all(pipes) == b"200\n403\n"
        result = await workspace.wait_for_result("p")
    assert result is not None
    assert [decision.host for decision in result.network] != []


async def test_a_tier_that_nobody_granted_stays_refused(workspace: LocalWorkspace) -> None:
    with pytest.raises(ToolRefused, match="tier 3"):
        await workspace.open_process("p", ShellCommand(line="true", tier=Tier.EVERYTHING))


DRIVER = """
import sys
from pathlib import Path
import anyio
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.local import open_local_hands
from orchestrator.ports.hands import ShellCommand
from worktrees.repositories.repository import GitRepository

async def main(repo, home, state, line):
    repository = GitRepository.open(Path(repo))
    async with open_local_hands(repository, Path(state), home=Path(home), environ={}) as hands:
        workspace = await hands.open_workspace(repository.read_head_commit(), Purpose("driver"))
        pipes = await workspace.open_process("p", ShellCommand(line=line, is_background=True))
        print((await pipes.receive_bytes()).decode(), flush=True)
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""


def test_killing_our_process_leaves_nothing_of_a_program(yard: Any, living: Callable[[str], list[int]]) -> None:
    line = "(setsid sleep 984.9 &) ; sleep 984.9 & echo up; exec cat"
    words = [sys.executable, "-c", DRIVER, str(yard.repo), str(yard.home), str(yard.state), line]
    with subprocess.Popen(words, cwd=SOURCE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "up\n"
        assert len(living("984.9")) >= 2
        driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 60
        while left := living("984.9"):
            assert time.monotonic() < until, left
            time.sleep(0.02)
