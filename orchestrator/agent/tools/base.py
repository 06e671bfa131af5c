"""What a tool is to the loop."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from orchestrator.domain.chat import ToolSpec
from orchestrator.errors import MalformedReply, ToolRefused
from orchestrator.llm.parse import parse_arguments

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True)
class ToolResult:
    """What the model is told. A result with `final` set ends the session with that value."""

    text: str
    is_ok: bool = True
    final: object = None


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool: how it is offered, and what it does with arguments that fit `arguments`.

    `is_mutating` tells that it may change the workspace, `is_final` that it can end the session. `run` may raise
    ToolRefused; its text goes to the model.
    """

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], Awaitable[ToolResult]]
    is_mutating: bool = False
    is_final: bool = False

    @property
    def spec(self) -> ToolSpec:
        """How it is offered to a model."""
        return ToolSpec(name=self.name, description=self.description, parameters=_schema(self.arguments))

    async def __call__(self, arguments: str) -> ToolResult:
        """Use the tool with arguments as the model wrote them; every mistake of the model becomes a result."""
        try:
            return await self.run(parse_arguments(arguments, self.arguments))
        except (ToolRefused, MalformedReply) as refusal:
            return ToolResult(str(refusal), is_ok=False)


AnyTool = Tool[Any]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema without titles, which say nothing that the names do not."""
    schema: dict[str, Any] = _without_titles(model.model_json_schema())
    return schema


def _without_titles(node: Any) -> Any:  # noqa: ANN401
    if isinstance(node, dict):
        return {
            key: _without_titles(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(item) for item in node] if isinstance(node, list) else node
