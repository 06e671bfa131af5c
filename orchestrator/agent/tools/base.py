"""Tools as the loop uses them."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, model_validator

from orchestrator.agent.tools.argument_names import read_other_names, rename_arguments
from orchestrator.domain.chat import ToolSpec
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.mcp.tool_definition import ServerFailure
from orchestrator.domain.policy.questions import PolicyQuestion
from orchestrator.domain.run.program_calls import ProgramCalls
from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.domain.sandbox.tier import ToolReach
from orchestrator.errors import MalformedReply, ToolRefused
from orchestrator.llm.output_parsing import parse_arguments

A = TypeVar("A", bound=BaseModel)
MAX_COMMAND_TEXT_BYTES = 100_000


def _check_command_text(text: str) -> str:
    if "\0" in text:
        raise ValueError("may not hold a NUL character")
    if len(text.encode()) > MAX_COMMAND_TEXT_BYTES:
        raise ValueError(f"is longer than {MAX_COMMAND_TEXT_BYTES:,} bytes: put long texts into a file")
    return text


CommandText = Annotated[str, AfterValidator(_check_command_text)]
"""Text that becomes a path or a word of a command line: the operating system takes neither NUL nor any length."""


class ToolArguments(FrozenModel):
    """The arguments of a tool. A usual other name of one that is left out is taken for it."""

    @model_validator(mode="before")
    @classmethod
    def _take_other_names(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        return rename_arguments(cls.model_fields.keys(), data)


@dataclass(frozen=True)
class ToolResult:
    """The answer of a tool to the model. A result with `final` set ends the session with that value.

    `network` is for the journal: what the tool reached of it, and what it was kept from.
    `stray_packets` counts what a command tried to send and had no way out for; `program` are the calls of a program,
    `failure` is why the tool of a server gave no answer.
    """

    text: str
    is_ok: bool = True
    final: object = None
    network: tuple[NetworkDecision, ...] = ()
    stray_packets: int = 0
    program: ProgramCalls | None = None
    failure: ServerFailure | None = None


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool: how it is offered, and what it does with arguments that fit `arguments`.

    `is_mutating` tells that it may change the workspace, `is_final` that it can end the session, `reach` what it works
    on. `server` is the one that it comes from, empty for the house's own; one that is not `is_repeatable` is not used
    again where nobody knows if it was. `run` may raise ToolRefused; its text goes to the model.
    """

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], Awaitable[ToolResult]]
    is_mutating: bool = False
    is_final: bool = False
    reach: ToolReach = ToolReach.NOTHING
    server: str = ""
    is_repeatable: bool = True

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as it is offered to a model."""
        return ToolSpec(name=self.name, description=self.description, parameters=_build_schema(self.arguments))

    def can_parse_arguments(self, arguments: str) -> bool:
        """Return True if arguments as the model wrote them fit the tool, so that it can be used at all."""
        with suppress(MalformedReply):
            parse_arguments(arguments, self.arguments)
            return True
        return False

    def find_other_names(self, arguments: str) -> dict[str, str]:
        """Return the tool's own names of arguments that the model calls otherwise, by what it calls them."""
        if not issubclass(self.arguments, ToolArguments):
            return {}
        return read_other_names(self.arguments.model_fields.keys(), arguments)

    def build_question(self, arguments: str) -> PolicyQuestion | None:
        """Return what a person has to be asked before the tool is used so, besides what the policy asks."""
        return None

    async def __call__(self, arguments: str, call: str = "") -> ToolResult:
        """Use the tool with arguments as the model wrote them; every mistake of the model becomes a result.

        `call` names the effect, as `tool/SESSION/TURN/INDEX`.
        """
        try:
            return await self.run(parse_arguments(arguments, self.arguments))
        except (ToolRefused, MalformedReply) as refusal:
            return ToolResult(str(refusal), is_ok=False)


AnyTool = Tool[Any]


@cache
def _build_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's JSON Schema without titles, which say nothing that the names do not."""
    schema: dict[str, Any] = _remove_titles(model.model_json_schema())
    return schema


def _remove_titles(node: Any) -> Any:  # noqa: ANN401
    if isinstance(node, dict):
        return {
            key: _remove_titles(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return list(map(_remove_titles, node))
    return node
