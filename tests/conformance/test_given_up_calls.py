"""Calls to host processes that are given up: what ran for them ends, and they are in nobody's way."""

import secrets
import time
from collections.abc import Callable

import anyio
import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.ports.hands import ShellCommand
from tests.conformance.kinds import HandsOptions
from tests.conformance.spread_kinds import open_host_processes
from tests.unit.hands.conftest import Yard

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

ABANDONED = 700


async def test_hundreds_of_abandoned_calls_keep_nobody_waiting_and_a_cancelled_command_is_gone_at_once(
    yard: Yard, head: CommitId, living: Callable[[str], list[int]]
) -> None:
    nap = f"98765.{secrets.randbelow(10**9):09}"
    async with open_host_processes(yard, HandsOptions(slots=4)) as opened:
        workspace = await opened.hands.open_workspace(head, Purpose("test"))
        await workspace.start_command("long", ShellCommand(line="sleep 30"))
        with anyio.move_on_after(3):
            async with anyio.create_task_group() as tasks:
                for _ in range(ABANDONED):
                    tasks.start_soon(workspace.wait_for_result, "long")
        begun = time.monotonic()
        assert await workspace.read_file("README.md") == b"hello\n"
        assert time.monotonic() - begun < 2
        await workspace.kill_command("long")
        begun = time.monotonic()
        with anyio.move_on_after(1.5) as scope:
            await run_command(workspace, ShellCommand(line=f"sleep {nap}"))
        assert scope.cancelled_caught
        assert living(nap) == []
        assert time.monotonic() - begun < 2.5
