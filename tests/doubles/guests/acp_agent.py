"""An ACP agent built with the published package, which does what its task says in lines that begin with `do:`.

Run as a program: `python acp_agent.py [WAY]`. A WAY is a way to misbehave: hang, flood, die, login; or `remember`, by
which it breaks the code in its first session, and mends it only where it goes on with that.
"""

import os
import sys
from typing import Any

import acp
import anyio
from acp import schema

DEEDS = {"triple": ("calc.py", "\n\ndef triple(a):\n    return 3 * a\n")}
CALC = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"
TEST = (
    "import unittest\n\nfrom calc import triple\n\n\nclass TripleTest(unittest.TestCase):\n"
    "    def test_triple(self):\n        self.assertEqual(triple(2), 6)\n"
)


class Agent:
    """The agent; `way` is how it misbehaves, if it does."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._conn: Any = None
        self._cwd = ""
        self._remembers = False

    def on_connect(self, conn: Any) -> None:
        self._conn = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        can = schema.AgentCapabilities(load_session=self._way == "remember")
        return schema.InitializeResponse(protocol_version=protocol_version, agent_capabilities=can)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        self._cwd, self._remembers = cwd, session_id == "s1"
        await self._say(session_id, "what I said before ")
        return schema.LoadSessionResponse()

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        if self._way == "login":
            raise acp.RequestError.auth_required()
        self._cwd = cwd
        return schema.NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Do nothing."""

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        if self._way == "hang":
            await anyio.sleep(3_600)
        if self._way == "die":
            os._exit(9)
        while self._way == "flood":
            await self._say(session_id, "x" * 100_000)
        if self._way == "remember" and not self._remembers:
            await anyio.Path(self._cwd, "calc.py").write_text("def add(a, b):\n    return 0\n", encoding="utf-8")
            return schema.PromptResponse(stop_reason="end_turn")
        if self._remembers and "You were at work on this task before" in prompt[0].text:
            await anyio.Path(self._cwd, "calc.py").write_text(CALC, encoding="utf-8")
        await self._say(session_id, "I add it. ")
        leave = await self._conn.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(
                tool_call_id="t1",
                kind="edit",
                title="edit calc.py",
                locations=[schema.ToolCallLocation(path=f"{self._cwd}/calc.py")],
            ),
            options=[
                schema.PermissionOption(option_id="y", name="yes", kind="allow_once"),
                schema.PermissionOption(option_id="n", name="no", kind="reject_once"),
            ],
        )
        started = schema.ToolCallStart(
            session_update="tool_call", tool_call_id="t1", title="edit calc.py", kind="edit", status="in_progress"
        )
        await self._conn.session_update(session_id=session_id, update=started)
        if leave.outcome.outcome == "selected" and leave.outcome.option_id == "y":
            await self._edit(session_id)
        cost = schema.UsageUpdate(
            session_update="usage_update", size=1000, used=10, cost=schema.Cost(amount=0.25, currency="USD")
        )
        await self._conn.session_update(session_id=session_id, update=cost)
        await self._say(session_id, "triple is there.")
        usage = schema.Usage(total_tokens=120, input_tokens=100, output_tokens=20)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    async def _edit(self, session_id: str) -> None:
        path = f"{self._cwd}/calc.py"
        read = await self._conn.read_text_file(session_id=session_id, path=path)
        text = read.content + DEEDS["triple"][1]
        await self._conn.write_text_file(session_id=session_id, path=path, content=text)
        await anyio.Path(self._cwd, "test_triple.py").write_text(TEST, encoding="utf-8")
        for outside in ("/etc/passwd", f"{self._cwd}/../x", f"{self._cwd}/.git/config"):
            try:
                await self._conn.write_text_file(session_id=session_id, path=outside, content="x")
            except acp.RequestError as error:
                await self._say(session_id, f"refused: {error} ")

    async def _say(self, session_id: str, text: str) -> None:
        await self._conn.session_update(session_id=session_id, update=acp.update_agent_message_text(text))


if __name__ == "__main__":
    anyio.run(acp.run_agent, Agent(sys.argv[1] if len(sys.argv) > 1 else ""))
