"""`orchestrate mcp`, driven by the client of the official SDK: it looks unless it is allowed more."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from orchestrator.cli.mcp.tools import PERMISSIONS, TOOLS, GoalText, RunChoice, TaskChoice, select_tools
from tests.running.cli import environment
from tests.running.goals import one
from tests.running.projects import GATE, calculator
from tests.running.scripts import write_script

LOOKING = {"list_runs", "get_status", "get_report", "show_task", "search_log", "list_questions"}


def test_what_acts_is_only_there_if_it_is_allowed() -> None:
    assert set(select_tools(frozenset())) == LOOKING
    assert {tool.permission for tool in TOOLS} == {None, *PERMISSIONS}
    assert set(select_tools(frozenset({"start"}))) == LOOKING | {"start_run", "resume_run"}


@pytest.mark.parametrize("name", ["--help", "-q", "a b", "", "a\nb"])
def test_no_argument_can_be_taken_for_an_option(name: str) -> None:
    with pytest.raises(ValidationError):
        RunChoice(run=name)
    if name:
        with pytest.raises(ValidationError):
            TaskChoice(task=name)


def test_a_goal_that_looks_like_an_option_is_read_from_standard_input() -> None:
    tool = select_tools(frozenset({"start"}))["start_run"]
    given = GoalText(goal="--unsafe-no-sandbox")
    assert tool.build_words(given) == ["run", "-", "--detach", "--json"]
    assert tool.read_stdin(given) == "--unsafe-no-sandbox"


@asynccontextmanager
async def open_client(home: Path, *words: str) -> AsyncIterator[ClientSession]:
    """A client of a server for the repository below `home`, whose models are played by a script."""
    model = write_script(home / "script.json", one("a"))
    own = home / ".config" / "orchestrate" / "config.toml"
    own.parent.mkdir(parents=True)
    review = '[approval]\nmode = "review"\npaths = ["a.txt"]\n'
    own.write_text(f'[roles.default]\nmodel = "{model}"\n[gate]\ncommand = "{GATE}"\nreport = "unittest"\n{review}')
    where = ("--repo", str(calculator(home / "repo")), "--state", str(home / "state"))
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "orchestrator", "mcp", *words, *where], env=environment(home), cwd=str(home)
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield client


def read_text(result: CallToolResult) -> str:
    """The text of a result."""
    parts: Sequence[object] = result.content
    return "".join(part.text for part in parts if isinstance(part, TextContent))


async def call_until(
    client: ClientSession, tool: str, arguments: dict[str, object], is_there: Callable[[str], bool]
) -> str:
    """Call a tool again and again until its text is as wanted."""
    for _ in range(200):
        text = read_text(await client.call_tool(tool, arguments))
        if is_there(text):
            return text
        await anyio.sleep(0.3)
    raise AssertionError(text)


@pytest.mark.sandbox
@pytest.mark.extended
async def test_a_chat_agent_starts_a_run_answers_its_question_and_reads_its_report(tmp_path: Path) -> None:
    async with open_client(tmp_path, "--allow", "start", "--allow", "answer", "--budget-usd", "5") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"start_run", "approve"} <= tools
        assert "pause_run" not in tools
        begun = await client.call_tool("start_run", {"goal": "write a"})
        assert not begun.is_error, read_text(begun)
        run = json.loads(read_text(begun))["run"]
        asked = await call_until(client, "list_questions", {"run": run}, lambda text: bool(json.loads(text)["waiting"]))
        question = json.loads(asked)["waiting"][0]["id"]
        answered = await client.call_tool("approve", {"run": run, "question": question})
        assert not answered.is_error, read_text(answered)
        await call_until(client, "list_runs", {}, lambda text: '"word": "done"' in text)
        assert "write a" in read_text(await client.call_tool("get_report", {"run": run}))


@pytest.mark.sandbox
@pytest.mark.extended
async def test_a_server_that_may_only_look_refuses_to_act_and_tells_mistakes_as_errors(tmp_path: Path) -> None:
    async with open_client(tmp_path) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == LOOKING
        refused = await client.call_tool("start_run", {"goal": "x"})
        assert (refused.is_error, "there is no tool" in read_text(refused)) == (True, True)
        unknown = await client.call_tool("get_status", {"run": "ghost"})
        assert (unknown.is_error, "no run of this repository" in read_text(unknown)) == (True, True)
        hostile = await client.call_tool("get_status", {"run": "--help"})
        assert hostile.is_error
    assert not (tmp_path / "state").exists()
