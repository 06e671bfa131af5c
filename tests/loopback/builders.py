"""Requests and script items for tests, with everything filled in that a test does not care about."""

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.chat import Message, Request, Role, ToolCall, ToolSpec
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.llm.scripted_model.script import ScriptedCall, ScriptedReply

SYSTEM = Message(role="system", text="You are a careful worker.")
SHELL = ToolSpec(
    name="shell",
    description="Run a command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


def reply(text: str = "", *, role: Role = "worker", task: str = "api", **fields: Any) -> ScriptedReply:
    """A script item; a text is made up unless there is a call or an error."""
    if not text and not fields.keys() & {"call", "error", "finish_reason"}:
        text = "Done."
    return ScriptedReply(role=role, task=task, text=text, **fields)


def call(tool: str = "shell", raw: str | None = None, **arguments: Any) -> ScriptedCall:
    """A tool call with arguments, or with the raw text of them."""
    return ScriptedCall(tool=tool, raw=raw, arguments=None if raw is not None else arguments)


def user(text: str = "Go on.", task: str = "api") -> Message:
    """What the user says first."""
    return Message(role="user", text=f"Task: {task}\n{text}")


def request(*more: Message, role: Role = "worker", task: str = "api", **fields: Any) -> Request:
    """A request for a task: system, user, and what came after."""
    defaults: Mapping[str, Any] = {"session": SessionId(f"{role}-{task}-1"), "turn": 0, "model": f"openai/{role}"}
    messages = fields.pop("messages", (SYSTEM, user(task=task), *more))
    return Request(role=role, task=TaskId(task), messages=messages, **{**defaults, **fields})


def called(*calls: ToolCall, text: str = "") -> Message:
    """An assistant's message that makes tool calls."""
    return Message(role="assistant", text=text, tool_calls=calls)


def returned(call_id: str, text: str = "ok") -> Message:
    """A tool's answer."""
    return Message(role="tool", call_id=call_id, text=text)
