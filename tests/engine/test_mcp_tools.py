"""Tools of MCP servers in runs: used, pinned, asked about, held."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import SessionStarted, ToolReturned
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.goals import Bench, one, status
from tests.running.mcp_servers import with_server
from tests.running.scripts import plans, uses

pytestmark = pytest.mark.sandbox


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def returned(ended: RunExit) -> list[ToolReturned]:
    """What the server's tool gave."""
    return [event for event in events(ended, ToolReturned) if event.name == "echoes__echo"]


def says(text: str) -> ScriptedReply:
    """The worker uses the server's tool."""
    return uses("worker", "a", "echoes__echo", text=text)


def items(*calls: ScriptedReply) -> list[ScriptedReply]:
    """A run of one task whose worker makes these calls first."""
    return [plans("root", {"key": "a"}), *calls, *one("a")[1:]]


async def test_a_worker_uses_a_tool_of_a_server_in_its_sandbox(bench: Bench) -> None:
    ended = await bench.run(*items(says("hello")), **with_server())
    (answer,) = returned(ended)
    assert (status(ended, "a"), answer.ok, answer.failure) == (TaskStatus.MERGED, True, None)
    assert "echo: hello" in answer.observation.head
    assert answer.observation.head.startswith("<echoes-")
    offered = {one.role: [server.server for server in one.servers] for one in events(ended, SessionStarted)}
    assert offered == {"planner": [], "worker": ["echoes"], "judge": []}
    (started,) = [one for one in events(ended, SessionStarted) if one.role == "worker"]
    assert "Say something back." in started.servers[0].tools.head
    assert [one for one in events(ended, Noticed) if one.code.startswith("mcp")] == []
