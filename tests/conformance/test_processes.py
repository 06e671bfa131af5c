"""Programs of any kind of hands that are spoken with: nothing is lost on the way, and nothing of them is left."""

import hashlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.errors import ProgramGone
from orchestrator.ports.hands import CommandEnding, ShellCommand, Workspace
from orchestrator.ports.processes import ProcessPipes

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox, pytest.mark.extended]

Living = Callable[[str], list[int]]


async def read_all(pipes: ProcessPipes) -> bytes:
    found = bytearray()
    with anyio.fail_after(100):
        while chunk := await pipes.receive_bytes():
            found += chunk
    return bytes(found)


async def read_exactly(pipes: ProcessPipes, size: int) -> bytes:
    found = b""
    with anyio.fail_after(60):
        while len(found) < size:
            chunk = await pipes.receive_bytes(size - len(found))
            assert chunk, found
            found += chunk
    return found


async def test_a_program_is_spoken_with_and_its_errors_are_in_its_log(workspace: Workspace) -> None:
    line = "while read -r word; do echo got:$word; echo oops:$word >&2; done; exit 3"
    pipes = await workspace.open_process("p", ShellCommand(line=line))
    await pipes.send_bytes(b"one\n")
    assert await read_exactly(pipes, 8) == b"got:one\n"
    await pipes.send_bytes("ä".encode() + b"\xff\n")
    await pipes.close_input()
    assert await read_all(pipes) == "got:ä".encode() + b"\xff\n"
    result = await workspace.wait_for_result("p")
    assert result is not None
    assert (result.ending, result.exit_code) == (CommandEnding.EXITED, 3)
    assert result.log.read_bytes() == "oops:one\noops:ä".encode() + b"\xff\n"


async def test_many_short_turns_come_in_order(workspace: Workspace) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="cat"))
    for number in range(40):
        text = f"{number}\n".encode()
        await pipes.send_bytes(text)
        assert await read_exactly(pipes, len(text)) == text
    await pipes.close_input()
    assert await read_all(pipes) == b""


async def test_a_flood_both_ways_loses_nothing(workspace: Workspace) -> None:
    content = b"".join(b"%d\n" % number for number in range(400_000))
    pipes = await workspace.open_process("p", ShellCommand(line="cat"))
    found = []

    async def listen() -> None:
        found.append(await read_all(pipes))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        for at in range(0, len(content), 500_000):
            await pipes.send_bytes(content[at : at + 500_000])
        await pipes.close_input()
    assert hashlib.sha256(found[0]).digest() == hashlib.sha256(content).digest()


async def test_a_program_that_prints_more_than_anybody_reads_waits(workspace: Workspace, run: Any) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="yes", is_background=True))
    assert await read_exactly(pipes, 4) == b"y\ny\n"
    assert (await run("echo meanwhile")).output == "meanwhile\n"
    assert await workspace.wait_for_result("p", 0.05) is None
    await workspace.kill_command("p")
    result = await workspace.wait_for_result("p")
    assert result is not None
    assert result.ending == CommandEnding.KILLED


async def test_whoever_gives_up_listening_loses_nothing(workspace: Workspace) -> None:
    line = "read -r word; echo first; read -r word; echo second"
    pipes = await workspace.open_process("p", ShellCommand(line=line))
    for _ in range(3):
        with anyio.move_on_after(0.1) as scope:
            await pipes.receive_bytes()
        assert scope.cancelled_caught
    await pipes.send_bytes(b"go\n")
    assert await read_exactly(pipes, 6) == b"first\n"
    await pipes.send_bytes(b"go\n")
    assert await read_all(pipes) == b"second\n"


async def test_whoever_gives_up_speaking_hinders_nobody(workspace: Workspace) -> None:
    """Any part of what was given up may arrive; what is sent later does, and behind it."""
    line = "until test -e go; do sleep 0.02; done; tr -d x; echo over"
    pipes = await workspace.open_process("p", ShellCommand(line=line))
    for _ in range(2):
        with anyio.move_on_after(0.1) as scope:
            await pipes.send_bytes(b"x" * 2_000_000)
        assert scope.cancelled_caught
    await workspace.write_file("go", b"")
    await pipes.send_bytes(b"later\n")
    await pipes.close_input()
    assert await read_all(pipes) == b"later\nover\n"


async def test_a_listener_hears_of_a_kill_and_of_an_end(workspace: Workspace, living: Living, nap: str) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line=f"(setsid sleep {nap} &) ; echo up; exec cat"))
    assert await read_exactly(pipes, 3) == b"up\n"
    assert living(nap) != []
    heard = []

    async def listen() -> None:
        heard.append(await read_all(pipes))

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.sleep(0.1)
        await workspace.kill_command("p")
        assert living(nap) == []
    assert heard == [b""]


async def test_a_program_that_has_ended_takes_nothing_more(workspace: Workspace) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="true"))
    assert await read_all(pipes) == b""
    with pytest.raises(ProgramGone):
        await pipes.send_bytes(b"hello\n" * 100_000)


async def test_input_that_was_ended_takes_nothing_more(workspace: Workspace) -> None:
    pipes = await workspace.open_process("p", ShellCommand(line="cat; sleep 99"))
    await pipes.close_input()
    await pipes.close_input()
    with pytest.raises(ProgramGone):
        await pipes.send_bytes(b"hello\n")
    await workspace.kill_command("p")


async def test_a_program_is_opened_once(workspace: Workspace) -> None:
    await workspace.open_process("p", ShellCommand(line="cat"))
    with pytest.raises(ValueError, match="a command was started as 'p' already"):
        await workspace.open_process("p", ShellCommand(line="cat"))
    await workspace.kill_command("p")


async def test_programs_in_the_background_take_no_place_from_commands(workspace: Workspace, run: Any) -> None:
    opened = []
    for number in range(6):
        command = ShellCommand(line="echo up; cat", is_background=True, writable=False)
        opened.append(await workspace.open_process(f"p{number}", command))
    for pipes in opened:
        assert await read_exactly(pipes, 3) == b"up\n"
    with anyio.fail_after(60):
        assert (await run("echo on")).output == "on\n"
    await workspace.interrupt_commands()
    assert await workspace.wait_for_result("p0", 0.05) is None


async def test_closing_a_workspace_leaves_nothing_that_a_program_started(
    hands: Any, head: Any, living: Living, nap: str
) -> None:
    workspace = await hands.open_workspace(head, Purpose("test"))
    line = f"(setsid sleep {nap} &) ; sleep {nap} & echo up; exec cat"
    pipes = await workspace.open_process("p", ShellCommand(line=line, is_background=True))
    assert await read_exactly(pipes, 3) == b"up\n"
    assert len(living(nap)) >= 2
    await workspace.close()
    assert living(nap) == []
