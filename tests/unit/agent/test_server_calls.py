"""Calls of tools that may not be made twice: after a death in the middle nobody makes them again."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.agent.session_spec import index_tools
from orchestrator.agent.tools.base import Tool, ToolArguments, ToolResult
from orchestrator.domain.event.work import ToolReturned
from orchestrator.domain.mcp.tool_definition import ServerFailure
from orchestrator.llm.scripted_model.model import ScriptedModel
from tests.loopback.builders import call, reply
from tests.running.agent_sessions import DONE, AgentSession


class EngineDied(BaseException):
    """The process is gone: nothing else happens in it."""


class Nothing(ToolArguments):
    """No arguments."""


def build_tool(calls: list[str], *, dies: bool, is_repeatable: bool = False) -> Tool[Nothing]:
    """A tool of a server that counts its calls; perhaps the engine dies during the first of them."""

    async def count_call(_arguments: Nothing) -> ToolResult:
        calls.append("called")
        if dies and len(calls) == 1:
            raise EngineDied
        return ToolResult("an answer")

    return Tool("far__pay", "Pay.", Nothing, count_call, server="far", is_repeatable=is_repeatable)


@pytest.mark.parametrize(
    ("is_repeatable", "times", "failure"), [(False, 1, ServerFailure.UNKNOWN), (True, 2, None)], ids=["once", "again"]
)
async def test_a_call_of_a_dead_engine_is_made_again_only_if_it_may_be(
    tmp_path: Path, is_repeatable: bool, times: int, failure: ServerFailure | None
) -> None:
    calls: list[str] = []
    session, script = AgentSession(tmp_path), [reply(call=[call("far__pay")]), DONE]
    tools = index_tools(build_tool(calls, dies=True, is_repeatable=is_repeatable))
    await session.open_journal()
    with pytest.raises((EngineDied, BaseExceptionGroup)):
        await session.run(ScriptedModel(script), tools={**session.build_spec().tools, **tools})
    session.journal.close()
    await session.open_journal()
    tools = index_tools(build_tool(calls, dies=False, is_repeatable=is_repeatable))
    await session.run(ScriptedModel(script[1:]), tools={**session.build_spec().tools, **tools})
    (first, _) = [one for one in await session.list_events(ToolReturned) if isinstance(one, ToolReturned)]
    assert (len(calls), first.failure, first.ok) == (times, failure, is_repeatable)
    session.journal.close()


async def test_a_call_that_had_returned_keeps_its_answer_when_its_turn_runs_again(tmp_path: Path) -> None:
    calls: list[str] = []
    session = AgentSession(tmp_path)
    script = [reply(call=[call("far__pay"), call("dies")]), DONE]
    pays, dies = build_tool(calls, dies=False), replace(build_tool([], dies=True), name="dies", is_repeatable=True)
    await session.open_journal()
    with pytest.raises((EngineDied, BaseExceptionGroup)):
        await session.run(ScriptedModel(script), tools={**session.build_spec().tools, **index_tools(pays, dies)})
    session.journal.close()
    await session.open_journal()
    lives = replace(build_tool([], dies=False), name="dies", is_repeatable=True)
    await session.run(ScriptedModel(script[1:]), tools={**session.build_spec().tools, **index_tools(pays, lives)})
    returned = [one for one in await session.list_events(ToolReturned) if isinstance(one, ToolReturned)]
    again = [one for one in returned if one.name == "far__pay"]
    assert (calls, [one.observation.head for one in again]) == (["called"], ["an answer", "an answer"])
    session.journal.close()
