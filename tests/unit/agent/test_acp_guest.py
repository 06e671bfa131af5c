"""A conversation with an ACP agent that is played in memory: sessions, terminals, and what does not keep to it."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.agent.guests.acp_guest import AcpGuest, AgentGrants
from orchestrator.agent.guests.pieces import GuestEnd
from orchestrator.domain.run.task import Exit
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.ports.hands import ShellCommand
from tests.doubles.pipes import PlayedPipes
from tests.unit.agent.test_acp_requests import CommandedWorkspace, rules

BYTES = 64 * 1024 * 1024


class PlayedAgent:
    """An agent that keeps to the protocol; `loads` says how it goes on with a session, `deeds` is what it says then."""

    def __init__(self, *deeds: Mapping[str, Any], loads: str = "") -> None:
        self.deeds = deeds
        self.loads = loads

    def __call__(self, pipes: PlayedPipes, heard: Mapping[str, Any]) -> None:
        match heard.get("method"):
            case "initialize":
                can = {"loadSession": bool(self.loads)}
                pipes.say(id=heard["id"], result={"protocolVersion": 1, "agentCapabilities": can})
            case "session/new":
                pipes.say(id=heard["id"], result={"sessionId": "new"})
            case "session/load":
                pipes.say(method="session/update", params=words("what was said before"))
                outcome = (
                    {"error": {"code": -32002, "message": "gone"}} if self.loads == "refuses" else {"result": None}
                )
                pipes.say(id=heard["id"], **outcome)
            case "session/prompt":
                for deed in self.deeds:
                    pipes.say(**deed)


def words(text: str) -> dict[str, Any]:
    """The parameters of an update in which the agent says something."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"sessionId": "s", "update": update}


def guest(pipes: PlayedPipes, workspace: CommandedWorkspace | None = None, output_bytes: int = BYTES) -> AcpGuest:
    """The agent as the house speaks with it."""
    grants = AgentGrants(rules(), ShellCommand(line="", tier=Tier.COMMANDS), output_bytes)
    return AcpGuest("pal", workspace or CommandedWorkspace(), pipes, grants)


def methods(pipes: PlayedPipes) -> list[str]:
    """What the agent was asked for, in order."""
    return [one["method"] for one in pipes.heard if "method" in one]


@pytest.mark.parametrize(
    ("loads", "asked", "session"),
    [("", "session/new", "new"), ("well", "session/load", "old"), ("refuses", "session/load session/new", "new")],
)
async def test_an_earlier_session_is_gone_on_with_where_the_agent_can(loads: str, asked: str, session: str) -> None:
    pipes = PlayedPipes(PlayedAgent({"method": "session/update", "params": words("done")}, loads=loads))
    agent = guest(pipes)
    assert await agent.open_session("old") is None
    assert (agent.agent_session, agent.is_loaded) == (session, session == "old")
    assert await agent.give_task("do it") is None
    assert methods(pipes) == ["initialize", *asked.split(), "session/prompt"]
    assert pipes.heard[-1]["params"]["sessionId"] == session
    pipes.end()
    assert (await agent.read_piece()).text == "done"  # and nothing that was said before


async def test_without_an_earlier_session_none_is_asked_for() -> None:
    pipes = PlayedPipes(PlayedAgent(loads="well"))
    await guest(pipes).open_session()
    assert methods(pipes) == ["initialize", "session/new"]


async def begin(pipes: PlayedPipes, **more: Any) -> AcpGuest:
    """An agent at work."""
    agent = guest(pipes, **more)
    assert await agent.open_session() is None
    assert await agent.give_task("do it") is None
    return agent


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    """A request of the agent."""
    return {"id": number, "method": method, "params": {"sessionId": "s", **params}}


async def test_an_agent_waits_for_the_end_of_a_terminal_while_it_asks_for_more() -> None:
    workspace, pipes = CommandedWorkspace(b"12 passed"), PlayedPipes(PlayedAgent())

    def go_on(pipes: PlayedPipes, heard: Mapping[str, Any]) -> None:
        told = heard.get("result") or {}
        match heard.get("id"):
            case 101:
                pipes.say(**request(102, "terminal/wait_for_exit", terminalId=told["terminalId"]))
                pipes.say(**request(103, "terminal/output", terminalId=told["terminalId"]))
            case 103:
                pipes.say(**request(104, "terminal/kill", terminalId=next(iter(workspace.commands))))
            case 102:
                pipes.end()

    agent = await begin(pipes, workspace=workspace)
    pipes.play = go_on
    pipes.say(**request(101, "terminal/create", command="make test"))
    piece = await agent.read_piece()
    assert "[terminal: make test]" in piece.text
    assert pipes.find_answer(103)["result"] == {"output": "12 passed", "truncated": False}
    assert pipes.find_answer(102)["result"] == {"exitCode": None, "signal": "SIGKILL"}
    assert [one.get("id") for one in pipes.heard].index(103) < [one.get("id") for one in pipes.heard].index(102)


async def test_terminals_are_not_offered_where_a_command_would_wait_for_the_agent() -> None:
    workspace = CommandedWorkspace()
    workspace.takes_turns = True
    pipes = PlayedPipes(PlayedAgent(request(101, "terminal/create", command="ls")))
    agent = await begin(pipes, workspace=workspace)
    pipes.end()
    await agent.read_piece()
    assert pipes.heard[0]["params"]["clientCapabilities"]["terminal"] is False
    assert "not offered" in pipes.find_answer(101)["error"]["message"]
    assert workspace.commands == {}


async def read_to_the_end(agent: AcpGuest) -> tuple[list[str], GuestEnd]:
    """What an agent says piece by piece, and how it ended."""
    texts = []
    while True:
        piece = await agent.read_piece()
        texts.append(piece.text)
        if piece.end is not None:
            return texts, piece.end


async def test_what_is_no_message_is_passed_over_until_it_is_too_much() -> None:
    pipes = PlayedPipes(PlayedAgent())
    agent = await begin(pipes)
    pipes.print_bytes(b'{"jsonrpc": "2.0"\n\xff\xfe\n[1]\n' + b"[" * 50_000 + b"\n")
    pipes.say(method="session/update", params=words("here I am"))
    pipes.print_bytes(b"{nonsense\n" * 1_001)
    texts, end = await read_to_the_end(agent)
    assert "".join(texts) == "here I am"
    assert (end.exit, "are no messages" in end.detail) == (Exit.GUEST_FAILED, True)


@pytest.mark.parametrize(
    "odd",
    [
        {"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "of-later"}}},
        {"method": "session/update", "params": None},
        request(7, "fs/read_text_file", path="/etc/passwd"),
        request(7, "fs/read_text_file", path="/src/project/\x00"),
        request(7, "fs/read_text_file", path="/src/project/\ud800"),
        request(7, "fs/write_text_file", path="/src/project/a", content=7),
        {"id": {"a": [1]}, "method": ["x"], "params": 3},
    ],
)
async def test_a_flood_of_odd_messages_is_bounded_by_turns(odd: Mapping[str, Any]) -> None:
    pipes = PlayedPipes(PlayedAgent())
    agent = await begin(pipes)
    for _ in range(5_001):
        pipes.say(**odd)
    pipes.end()
    texts, end = await read_to_the_end(agent)
    assert (texts, end.exit) == (["", ""], Exit.GUEST_FAILED)


async def test_an_agent_prints_no_more_than_its_engine_lets_it() -> None:
    pipes = PlayedPipes(PlayedAgent())
    agent = await begin(pipes, output_bytes=200_000)
    for _ in range(30):
        pipes.say(method="session/update", params=words("x" * 10_000))
    _, end = await read_to_the_end(agent)
    assert "printed more than output_mb allows" in end.detail


async def test_a_permission_is_refused_by_what_the_agent_said_of_the_call_before() -> None:
    started = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "plan mode", "kind": "switch_mode"}
    options = [
        {"optionId": "y", "name": "y", "kind": "allow_once"},
        {"optionId": "n", "name": "n", "kind": "reject_once"},
    ]
    wish = request(9, "session/request_permission", toolCall={"toolCallId": "t"}, options=options)
    update = {"method": "session/update", "params": {"sessionId": "s", "update": started}}
    pipes = PlayedPipes(PlayedAgent(update, wish))
    agent = await begin(pipes)
    pipes.end()
    texts, _ = await read_to_the_end(agent)
    assert pipes.find_answer(9)["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}
    assert "asked leave: plan mode → refused" in "".join(texts)
