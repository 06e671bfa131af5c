"""A host that is lost: every call to it ends at once, whatever it asked for, and the work goes on elsewhere."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import HostLost
from orchestrator.ports.hands import Hands, ShellCommand, Workspace
from orchestrator.ports.processes import ProcessPipes
from tests.conformance.kinds import HostControl, OpenedHands
from tests.conformance.waiting import wait_until
from tests.unit.hands.conftest import Yard

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox]

Call = Callable[[], Awaitable[object]]
LATEST_S = 2.0


@pytest.fixture
async def opened(open_hands: Any) -> AsyncIterator[OpenedHands]:
    """Hands of the test's own, as it breaks them."""
    async with open_hands(slots=2) as found:
        yield found


@pytest.fixture
def hosts(opened: OpenedHands) -> HostControl:
    assert opened.hosts is not None
    return opened.hosts


@pytest.fixture
def host_processes(hosts: HostControl) -> HostControl:
    """The hosts of a kind whose hosts are processes of their own."""
    return hosts


async def open_on_both(hands: Hands, head: CommitId) -> tuple[Workspace, Workspace]:
    """Return two workspaces that are on two hosts."""
    one = await hands.open_workspace(head, Purpose("one"))
    other = await hands.open_workspace(head, Purpose("other"))
    assert "" not in (one.host, other.host)
    assert one.host != other.host
    return one, other


def list_calls(workspace: Workspace, pipes: ProcessPipes, tree: TreeId) -> dict[str, Call]:
    """Return everything that can be asked of a workspace in which `long` runs and `program` is spoken with."""
    return {
        "get_policy_hash": lambda: workspace.get_policy_hash(Tier.COMMANDS),
        "start_command": lambda: workspace.start_command("late", ShellCommand(line="true")),
        "open_process": lambda: workspace.open_process("late program", ShellCommand(line="true")),
        "wait_for_result": lambda: workspace.wait_for_result("long"),
        "read_output": lambda: workspace.read_output("long", 10),
        "interrupt_commands": workspace.interrupt_commands,
        "read_file": lambda: workspace.read_file("README.md"),
        "write_file": lambda: workspace.write_file("new", b"x"),
        "list_paths": workspace.list_paths,
        "list_paths_beside": lambda: workspace.list_paths_beside(tree, 10),
        "search_text": lambda: workspace.search_text("hello", "**", 10),
        "take_snapshot": lambda: workspace.take_snapshot("Late", "refs/orchestrate/test/lost"),
        "get_unchanged_tree": workspace.get_unchanged_tree,
        "restore_tree": lambda: workspace.restore_tree(tree),
        "send_bytes": lambda: pipes.send_bytes(b"x"),
        "receive_bytes": pipes.receive_bytes,
        "close_input": pipes.close_input,
    }


async def record_ending(name: str, call: Call, endings: dict[str, str]) -> None:
    """Make a call, and write down what it ended with."""
    try:
        await call()
    except Exception as error:  # noqa: BLE001  whatever it is, the test names it
        endings[name] = type(error).__name__
    else:
        endings[name] = "returned"


async def open_busy_workspace(workspace: Workspace) -> ProcessPipes:
    await workspace.start_command("long", ShellCommand(line="sleep 99", is_background=True))
    program = ShellCommand(line="sleep 99", is_background=True)
    return await workspace.open_process("program", program)


async def test_a_loss_ends_every_kind_of_call_under_way_at_once(
    opened: OpenedHands, hosts: HostControl, head: CommitId, yard: Yard
) -> None:
    workspace, _ = await open_on_both(opened.hands, head)
    pipes = await open_busy_workspace(workspace)
    tree = TreeId(yard.git("rev-parse", f"{head}^{{tree}}"))
    calls, endings = list_calls(workspace, pipes, tree), dict[str, str]()
    await hosts.freeze_host(workspace.host)
    async with anyio.create_task_group() as group:
        for name, call in calls.items():
            group.start_soon(record_ending, name, call, endings)
        await anyio.sleep(0.5)
        assert endings == {}, "the control: a frozen host answers nothing"
        await hosts.lose_host(workspace.host)
        await wait_until(lambda: len(endings) == len(calls), LATEST_S)
    assert endings == dict.fromkeys(calls, "HostLost")


@pytest.mark.extended
async def test_every_later_call_ends_at_once_too_and_closing_is_no_error(
    opened: OpenedHands, hosts: HostControl, head: CommitId, yard: Yard
) -> None:
    workspace, _ = await open_on_both(opened.hands, head)
    pipes = await open_busy_workspace(workspace)
    tree = TreeId(yard.git("rev-parse", f"{head}^{{tree}}"))
    await hosts.lose_host(workspace.host)
    with pytest.raises(HostLost):
        await workspace.wait_for_result("long")
    endings: dict[str, str] = {}
    calls = list_calls(workspace, pipes, tree)
    with anyio.fail_after(LATEST_S):
        for name, call in calls.items():
            await record_ending(name, call, endings)
        await workspace.kill_command("long")
        await workspace.close()
        await workspace.close()
    assert endings == dict.fromkeys(calls, "HostLost")


@pytest.mark.extended
async def test_twenty_calls_under_way_hear_of_it_and_those_to_another_host_go_on(
    opened: OpenedHands, hosts: HostControl, head: CommitId, run_in: Any
) -> None:
    lost, other = await open_on_both(opened.hands, head)
    spaces = [lost]
    while len(spaces) < 20:
        workspace = await opened.hands.open_workspace(head, Purpose("test"))
        if workspace.host == lost.host:
            spaces.append(workspace)
    endings: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        for number, workspace in enumerate(spaces):
            await workspace.start_command("call", ShellCommand(line="sleep 99"))
            group.start_soon(record_ending, str(number), lambda one=workspace: one.wait_for_result("call"), endings)
        await other.start_command("call", ShellCommand(line="until test -e go; do sleep 0.02; done; echo here"))
        await anyio.sleep(0.2)
        assert endings == {}
        await hosts.lose_host(lost.host)
        await wait_until(lambda: len(endings) == len(spaces), LATEST_S)
    assert set(endings.values()) == {"HostLost"}
    await other.write_file("go", b"")
    while (result := await other.wait_for_result("call")) is None:
        pass
    assert result.log.read_text() == "here\n"


@pytest.mark.extended
async def test_the_slots_are_those_of_the_hosts_that_are_left(
    opened: OpenedHands, hosts: HostControl, head: CommitId
) -> None:
    workspace = await opened.hands.open_workspace(head, Purpose("test"))
    assert opened.hands.slots == 4
    await hosts.lose_host(workspace.host)
    with pytest.raises(HostLost):
        await workspace.list_paths()
    assert opened.hands.slots == 2


async def test_the_work_goes_on_elsewhere_from_the_last_snapshot(
    opened: OpenedHands, hosts: HostControl, head: CommitId, run_in: Any
) -> None:
    lost, _ = await open_on_both(opened.hands, head)
    await run_in(lost, "echo kept > note; head -c 5000000 /dev/zero > large")
    taken = await lost.take_snapshot("Kept", "refs/orchestrate/test/kept")
    await run_in(lost, "echo lost > note")
    await hosts.lose_host(lost.host)
    with pytest.raises(HostLost) as told:
        await lost.read_file("note")
    assert told.value.host == lost.host
    assert lost.host in str(told.value)
    for _ in range(2):
        again = await opened.hands.open_workspace(taken.commit, Purpose("again"))
        assert again.host != lost.host
        assert (await run_in(again, "cat note; wc -c < large")).output == "kept\n5000000\n"


@pytest.mark.extended
async def test_a_loss_while_a_workspace_is_opened_opens_it_elsewhere(
    opened: OpenedHands, hosts: HostControl, head: CommitId, run_in: Any
) -> None:
    """Which host is next is known: the one that the workspace before was on, as the other is as full."""
    one, other = await open_on_both(opened.hands, head)
    await one.close()
    found: list[Workspace] = []

    async def open_third() -> None:
        found.append(await opened.hands.open_workspace(head, Purpose("third")))

    await hosts.freeze_host(one.host)
    async with anyio.create_task_group() as group:
        group.start_soon(open_third)
        await anyio.sleep(0.3)
        assert found == [], "the control: it is opened on the frozen host"
        await hosts.lose_host(one.host)
    assert found[0].host == other.host
    assert (await run_in(found[0], "cat README.md")).output == "hello\n"


@pytest.mark.extended
async def test_nothing_of_a_snapshot_that_was_cut_off_is_left(
    opened: OpenedHands, hosts: HostControl, head: CommitId, yard: Yard, run_in: Any
) -> None:
    ref = "refs/orchestrate/test/cut"
    workspace, _ = await open_on_both(opened.hands, head)
    await run_in(workspace, "echo new > new")
    await hosts.freeze_host(workspace.host)
    endings: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(record_ending, "snapshot", lambda: workspace.take_snapshot("Cut", ref), endings)
        await anyio.sleep(0.3)
        await hosts.lose_host(workspace.host)
    assert endings == {"snapshot": "HostLost"}
    assert yard.git("for-each-ref", ref) == ""


@pytest.mark.extended
async def test_what_is_left_of_a_lost_host_s_commands_dies(
    opened: OpenedHands, host_processes: HostControl, head: CommitId, nap: str, living: Callable[[str], list[int]]
) -> None:
    workspace, _ = await open_on_both(opened.hands, head)
    await workspace.start_command("call", ShellCommand(line=f"(setsid sleep {nap} &) ; sleep {nap}", timeout_s=300))
    await wait_until(lambda: len(living(nap)) >= 2, 60)
    await host_processes.lose_host(workspace.host)
    await wait_until(lambda: living(nap) == [], 5)
    assert living(nap) == []
