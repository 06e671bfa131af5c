"""Tools that end a session with a typed value: a handoff, a plan, a verdict."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from orchestrator.agent.tools.base import Tool, ToolResult

V = TypeVar("V", bound=BaseModel)


async def _find_no_problem(_value: object) -> tuple[str, ...]:
    return ()


def build_submit_tool(
    name: str, description: str, value: type[V], problems: Callable[[V], Awaitable[tuple[str, ...]]] = _find_no_problem
) -> Tool[V]:
    """Return a tool whose arguments are the session's result, unless `problems` finds something to send back."""

    async def submit_value(arguments: V) -> ToolResult:
        found = await problems(arguments)
        if found:
            return ToolResult("Not accepted:\n" + "\n".join(f"- {problem}" for problem in found), is_ok=False)
        return ToolResult("accepted", final=arguments)

    return Tool(name, description, value, submit_value, is_final=True)
