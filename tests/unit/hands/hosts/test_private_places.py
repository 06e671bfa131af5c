"""A host serves nobody whose commands would see its key or its store, and says so at once where it can."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.ids import CommitId
from orchestrator.hands.hosts.agent.host_agent import HostAgent, HostIdentity
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadRules, open_spread_hands
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.ports.background_tasks import run_background_tasks
from tests.doubles.host_links import InProcessLink
from tests.running.host_processes import create_certificates

RULES = SpreadRules(lambda _: True, uses_this_machine=False)


async def join(yard: Any, store: Path, key: Path, tools: Path) -> Event:
    """What a run records of a host that joins, where commands see the directory `tools`."""
    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    grant = SandboxGrant(read_only=(GrantedFolder(path=str(tools)),))
    head = CommitId(yard.git("rev-parse", "HEAD"))
    async with yard.hands(grant) as local, run_background_tasks() as tasks:
        roster = HostRoster("test", record)
        await open_spread_hands(local, roster, grant, head, yard.state, RULES)
        agent = HostAgent(HostIdentity("one", 1, "test"), HostStore(store), tasks, (key,))
        await roster.admit_host(InProcessLink(agent))
        await agent.close()
    return events[-1]


@pytest.mark.extended
@pytest.mark.sandbox
async def test_a_host_whose_key_or_store_lies_where_commands_may_read_is_refused(yard: Any, tmp_path: Path) -> None:
    tools, hidden, link = tmp_path / "tools", tmp_path / "hidden", tmp_path / "link"
    for folder in (tools, hidden):
        folder.mkdir()
        folder.chmod(0o755)
    link.symlink_to(tools)
    assert isinstance(await join(yard, hidden / "a", hidden / "host-key.pem", tools), HostJoined), "the control"
    for store, key, reason in (
        (hidden / "b", link / "host-key.pem", f"commands would see {tools}, and with it the key of this host"),
        (tools / "store", hidden / "host-key.pem", f"{tools}, given as"),
    ):
        event = await join(yard, store, key, tools)
        assert isinstance(event, HostLeft)
        assert event.cause == "refused"
        assert reason in event.reason


def test_hosts_join_takes_no_directory_that_every_command_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visible, hidden = tmp_path / "environment", tmp_path / "hidden"
    monkeypatch.setitem(os.environ, "VIRTUAL_ENV", str(visible))
    for place in (visible, hidden):
        create_certificates(place, ["one"])
    for certs, state, option in ((visible, hidden / "state", "--certs"), (hidden, visible / "state", "--state")):
        words = ["hosts", "join", "127.0.0.1:1", "--name", "one", "--certs", str(certs / "hosts" / "one")]
        done = CliRunner().invoke(cli, [*words, "--state", str(state)])
        assert done.exit_code != 0
        assert f"take another directory for {option}" in str(done.exception), done.output
