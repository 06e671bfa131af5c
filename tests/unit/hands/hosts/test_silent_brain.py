"""A host that hears nothing of its brain ends everything by itself, and what it ended is no result."""

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator import __version__
from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostLeft
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.errors import HostLost
from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.network.dask_brain import ListenOptions, listen_for_hosts
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadRules, open_spread_hands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import ShellCommand, Workspace
from tests.conformance.waiting import wait_until
from tests.running.host_processes import create_certificates, run_host

pytestmark = [pytest.mark.sandbox, pytest.mark.extended]

LOST_AFTER_S = 3.0
RULES = SpreadRules(lambda _: True, uses_this_machine=False)


async def wait_for_end(workspace: Workspace, endings: list[str]) -> None:
    """Write down how a call ended."""
    try:
        endings.append(str(await workspace.wait_for_result("call")))
    except HostLost:
        endings.append("lost")


async def test_the_commands_of_a_brain_that_hangs_end_and_are_lost_and_not_killed(
    yard: Any, tmp_path: Path, living: Callable[[str], list[int]]
) -> None:
    """The brain is this process, which does nothing else while it sleeps."""
    events, endings = list[Event](), list[str]()

    async def record(event: Event) -> None:
        events.append(event)

    nap, certs, head = f"98765.{secrets.randbelow(10**9):09}", tmp_path / "certs", yard.git("rev-parse", "HEAD")
    create_certificates(certs, ["one"])
    listen = ListenOptions("127.0.0.1", 0, load_certificates(certs / "brain", "brain"), LOST_AFTER_S)
    roster = HostRoster(__version__, record)
    async with yard.hands() as local:
        hands = await open_spread_hands(local, roster, SandboxGrant(), CommitId(head), yard.state, RULES)
        async with listen_for_hosts(listen, roster) as address:
            with run_host(tmp_path / "one", certs, address, "one", 1):
                await wait_until(lambda: bool(roster.hosts), 60)
                workspace = await hands.open_workspace(CommitId(head), Purpose("test"))
                await workspace.start_command("call", ShellCommand(line=f"sleep {nap}"))
                await wait_until(lambda: bool(living(nap)), 30)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(wait_for_end, workspace, endings)
                    await anyio.sleep(0.5)
                    time.sleep(1)  # noqa: ASYNC251  it hangs
                    assert living(nap), "the control: the host is patient at first"
                    time.sleep(LOST_AFTER_S + 5)  # noqa: ASYNC251  it hangs
                    assert not living(nap)
                assert endings == ["lost"]
                await wait_until(lambda: any(isinstance(event, HostLeft) for event in events), 10)
                await wait_until(lambda: bool(roster.hosts), 60)
