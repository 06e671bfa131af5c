"""Servers of tools from their registries, used by a worker in its sandbox."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import ToolReturned
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import Bench, one, status
from tests.running.projects import calculator
from tests.running.scripts import plans, uses

pytestmark = [pytest.mark.extended, pytest.mark.sandbox, pytest.mark.registry, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / ".venv-servers"


@pytest.fixture(scope="module")
def servers() -> Path:
    """The environment of servers from registries; `make` sets it up where it is missing, and fails loudly."""
    subprocess.run(["make", "--no-print-directory", "servers"], cwd=ROOT, check=True)
    return SERVERS


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


def list_answers(ended: RunExit, name: str) -> list[tuple[bool, str]]:
    """What a tool gave, each time."""
    events = [one.event for one in read_all_events(ended.directory.journal)]
    return [(one.ok, one.observation.head) for one in events if isinstance(one, ToolReturned) and one.name == name]


async def use_server(bench: Bench, table: dict[str, Any], tool: str, **arguments: Any) -> RunExit:
    """A run whose worker uses one tool of a server first."""
    script = [plans("root", {"key": "a"}), uses("worker", "a", tool, **arguments), *one("a")[1:]]
    return await bench.run(*script, mcp=[table])


async def test_a_worker_asks_the_server_of_times(bench: Bench, servers: Path) -> None:
    table = {
        "name": "clock",
        "command": [str(servers / "bin" / "mcp-server-time"), "--local-timezone", "UTC"],
        "read_only": [str(servers), sys.base_prefix],
    }
    call = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    ended = await use_server(bench, table, "clock__convert_time", **call)
    ((is_ok, text),) = list_answers(ended, "clock__convert_time")
    assert (status(ended, "a"), is_ok) == (TaskStatus.MERGED, True)
    assert "21:00" in text
    again = await use_server(bench, table, "clock__convert_time", **call)
    assert list_answers(again, "clock__convert_time")[0][0]
    notices = [one.event for one in read_all_events(again.directory.journal) if isinstance(one.event, Noticed)]
    assert [one for one in notices if one.code.startswith("mcp")] == []


async def test_a_worker_looks_at_its_repository_by_the_server_of_git(bench: Bench, servers: Path) -> None:
    table = {
        "name": "git",
        "command": [str(servers / "bin" / "mcp-server-git")],
        "read_only": [str(servers), sys.base_prefix],
    }
    ended = await use_server(bench, table, "git__git_log", repo_path=str(bench.repository), max_count=1)
    ((is_ok, text),) = list_answers(ended, "git__git_log")
    assert (status(ended, "a"), is_ok) == (TaskStatus.MERGED, True), text
    assert "Commit" in text


def find_node() -> Path:
    """The program that runs servers from npm."""
    found = shutil.which("node")
    assert found is not None
    return Path(found).resolve()


async def test_the_server_of_files_reads_the_workspace_and_writes_nothing(bench: Bench, servers: Path) -> None:
    node = find_node()
    script = servers / "npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    table = {
        "name": "files",
        "command": [str(node), str(script), str(bench.repository)],
        "read_only": [str(servers), str(node.parent.parent)],
    }
    calls = [
        uses("worker", "a", "files__read_text_file", path=str(bench.repository / "calc.py")),
        uses("worker", "a", "files__write_file", path=str(bench.repository / "evil.py"), content="1"),
    ]
    ended = await bench.run(plans("root", {"key": "a"}), *calls, *one("a")[1:], mcp=[table])
    ((is_read, text),) = list_answers(ended, "files__read_text_file")
    ((is_written, refusal),) = list_answers(ended, "files__write_file")
    assert (status(ended, "a"), is_read, is_written) == (TaskStatus.MERGED, True, False), refusal
    assert "def " in text
    assert not (bench.repository / "evil.py").exists()
    assert "evil.py" not in ended.state.tasks["a"].candidates[0].paths
