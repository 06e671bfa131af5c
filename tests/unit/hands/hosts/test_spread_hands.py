"""Hands over this machine and hosts: a workspace on a host is like one here, and what it makes comes back."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostJoined
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.hosts.agent.host_agent import HostAgent
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadHands, SpreadRules, open_spread_hands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import ShellCommand
from tests.doubles.host_links import InProcessLink, run_agent

pytestmark = pytest.mark.sandbox


@asynccontextmanager
async def spread(
    yard: Any,
    tmp_path: Path,
    events: list[Event],
    grant: SandboxGrant | None = None,
    links: list[InProcessLink] | None = None,
    build_link: Callable[[HostAgent], InProcessLink] = InProcessLink,
) -> AsyncIterator[SpreadHands]:
    async def record(event: Event) -> None:
        events.append(event)

    grant = grant or SandboxGrant()
    async with yard.hands(grant) as local, run_agent(tmp_path / "host", "one") as agent:
        roster = HostRoster("test", record)
        base = CommitId(yard.git("rev-parse", "HEAD"))
        rules = SpreadRules(lambda _: True, uses_this_machine=False)
        hands = await open_spread_hands(local, roster, grant, base, yard.state, rules)
        link = build_link(agent)
        if links is not None:
            links.append(link)
        await roster.admit_host(link)
        yield hands


async def test_a_kill_that_comes_before_its_start_keeps_the_command_from_running(yard: Any, tmp_path: Path) -> None:
    """Two requests on two connections may pass one another."""
    async with spread(yard, tmp_path, []) as hands:
        workspace = await hands.open_workspace(CommitId(yard.git("rev-parse", "HEAD")), Purpose("test"))
        await workspace.kill_command("killed")
        await workspace.start_command("killed", ShellCommand(line="touch killed"))
        await workspace.start_command("other", ShellCommand(line="sleep 0.5; touch other"))
        while await workspace.wait_for_result("other") is None:
            pass
        assert await workspace.list_paths("[ko]*") == ("other",)
        await workspace.close()


async def test_a_command_runs_on_a_host_at_the_place_of_the_checkout(yard: Any, tmp_path: Path) -> None:
    events: list[Event] = []
    async with spread(yard, tmp_path, events) as hands:
        assert [type(event) for event in events] == [HostJoined], events
        workspace = await hands.open_workspace(CommitId(yard.git("rev-parse", "HEAD")), Purpose("test"))
        result, printed = await run_and_read(
            workspace, ShellCommand(line="pwd; ls; git log --oneline; echo new > made")
        )
        assert result.exit_code == 0
        assert str(yard.repo) in printed
        taken = await workspace.take_snapshot("kept", "refs/test/kept")
        assert yard.git("rev-parse", "refs/test/kept") == taken.commit
        assert yard.git("show", "refs/test/kept:made") == "new"
        await workspace.close()


async def test_a_snapshot_is_not_fetched_again_where_a_command_wrote_nothing(yard: Any, tmp_path: Path) -> None:
    links: list[InProcessLink] = []
    async with spread(yard, tmp_path, [], links=links) as hands:
        workspace = await hands.open_workspace(CommitId(yard.git("rev-parse", "HEAD")), Purpose("test"))
        await workspace.write_file("made", b"new\n")
        taken = await workspace.take_snapshot("first", "refs/test/first", is_followed=True)
        await run_and_read(workspace, ShellCommand(line="cat made"))
        assert await workspace.get_unchanged_tree() == taken.tree
        again = await workspace.take_snapshot("second", "refs/test/second", taken.commit)
        assert yard.git("log", "--format=%s %T", "-1", "refs/test/second") == f"second {again.tree}"
        assert again.tree == taken.tree
        await workspace.write_file("made", b"newer\n")
        await workspace.take_snapshot("third", "refs/test/third")
        assert yard.git("show", "refs/test/third:made") == "newer"
        await workspace.close()
    fetched = [text for text in links[0].requests if '"call": "take-snapshot"' in text]
    assert len(fetched) == 2


class LateLink(InProcessLink):
    """A link that carries requests out to their end, as a network does, also if nobody waits for the reply.

    Once `is_late`, files are written only when `go_on` is set.
    """

    def __init__(self, agent: HostAgent, tasks: TaskGroup) -> None:
        super().__init__(agent)
        self.is_late = False
        self.go_on, self.has_written = anyio.Event(), anyio.Event()
        self._tasks = tasks

    async def ask_text(self, text: str, *, is_wait: bool = False) -> str:
        has_reply, replies = anyio.Event(), list[str]()

        async def carry_out() -> None:
            is_held = self.is_late and '"call": "write-file"' in text
            if is_held:
                await self.go_on.wait()
            replies.append(await InProcessLink.ask_text(self, text, is_wait=is_wait))
            has_reply.set()
            if is_held:
                self.has_written.set()

        self._tasks.start_soon(carry_out)
        await has_reply.wait()
        return replies[0]


async def test_a_write_that_was_cancelled_and_came_late_is_in_the_next_snapshot(yard: Any, tmp_path: Path) -> None:
    links: list[InProcessLink] = []
    async with (
        anyio.create_task_group() as tasks,
        spread(yard, tmp_path, [], links=links, build_link=lambda agent: LateLink(agent, tasks)) as hands,
    ):
        workspace = await hands.open_workspace(CommitId(yard.git("rev-parse", "HEAD")), Purpose("test"))
        (link,) = links
        assert isinstance(link, LateLink)
        link.is_late = True
        with anyio.move_on_after(0.1):
            await workspace.write_file("made", b"late\n")
        without = await workspace.take_snapshot("without", "refs/test/without", is_followed=True)
        assert await workspace.get_unchanged_tree() == without.tree
        link.go_on.set()
        await link.has_written.wait()
        await workspace.take_snapshot("with", "refs/test/with")
        assert yard.git("show", "refs/test/with:made") == "late"
        await workspace.close()


async def test_what_a_workspace_borrows_of_the_checkout_is_there_on_a_host_and_comes_once(
    yard: Any, tmp_path: Path
) -> None:
    yard.commit({".gitignore": "node_modules\n.venv\n"})
    program = yard.repo / "node_modules" / ".bin" / "tool"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho from the checkout\n")
    program.chmod(0o755)
    (yard.repo / "node_modules" / "latest").symlink_to(".bin/tool")
    head, copies = CommitId(yard.git("rev-parse", "HEAD")), list[tuple[str, int]]()
    for _ in range(2):
        events: list[Event] = []
        async with spread(yard, tmp_path, events) as hands:
            assert [type(event) for event in events] == [HostJoined], events
            workspace = await hands.open_workspace(head, Purpose("test"))
            result, printed = await run_and_read(workspace, ShellCommand(line="tool; cat node_modules/latest"))
            assert (result.exit_code, printed.splitlines()[0]) == (0, "from the checkout"), printed
            taken = await workspace.take_snapshot("kept", "refs/test/kept")
            assert taken.tree == yard.git("rev-parse", f"{head}^{{tree}}")
            await workspace.close()
        [copy] = (tmp_path / "host" / "borrowed").iterdir()
        copies.append((copy.name, copy.stat().st_ino))
    assert copies[0] == copies[1]
