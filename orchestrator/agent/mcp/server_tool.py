"""A tool of a server, as the loop uses it: its definition is the pinned one, its answer is material."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict

from orchestrator.agent.tools.base import Tool, ToolResult
from orchestrator.config.mcp import McpServerSettings, ServerApproval
from orchestrator.domain.chat import ToolSpec
from orchestrator.domain.mcp.tool_definition import ServerFailure, ToolDefinition
from orchestrator.domain.policy.decision import MCP_MARK, PolicyDecision
from orchestrator.domain.policy.questions import PolicyQuestion
from orchestrator.domain.policy.rules import PolicySubject
from orchestrator.domain.sandbox.tier import ToolReach
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.errors import MalformedReply
from orchestrator.llm.output_parsing import parse_json_object
from orchestrator.redact.token_patterns import has_mark
from prompts import fence_text

_NAME = compile_lazily(r"[A-Za-z0-9_-]{1,64}")
_DESCRIPTION_CHARS = 2_000
_NOTE_CHARS = 400
_SCHEMA_CHARS = 16_000
_MAX_DEPTH = 12
_SHOWN_ARGUMENT_CHARS = 1_000
_LEFT_OUT_KEYS = frozenset({"$schema", "$id", "title", "examples"})
_UNSHOWN = (
    "Nothing was done: a [redacted:…] in this call stands for a secret that is not shown here, and would be sent in "
    "its place. Call the tool without it."
)


class ServerToolArguments(BaseModel):
    """The arguments of a server's tool: any object. The server says what is wrong with them."""

    model_config = ConfigDict(extra="allow", frozen=True)


AnswerCall = Callable[[ToolDefinition, dict[str, Any], str], Awaitable[ToolResult]]
"""A function that uses a tool: by its definition, the arguments, and the name of the call's effect."""


@dataclass(frozen=True, kw_only=True)
class ServerTool(Tool[ServerToolArguments]):
    """A tool of a server. `answer` uses it."""

    definition: ToolDefinition
    approval: ServerApproval
    answer: AnswerCall

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as it is offered to a model."""
        parameters = clean_schema(json.loads(self.definition.schema_text))
        return ToolSpec(name=self.name, description=self.description, parameters=parameters)

    def build_question(self, arguments: str) -> PolicyQuestion | None:
        """Return what the user wants to be asked: about the first call of the tool, or about every one."""
        if self.approval == "never":
            return None
        rule = PolicyDecision(effect="ask", place=f"[[mcp]] {self.server}", reason=f'approval = "{self.approval}"')
        subject = PolicySubject(kind="mcp", name=self.name)
        shown = f"the call: {to_one_line(arguments, _SHOWN_ARGUMENT_CHARS)}"
        about = arguments if self.approval == "always" else ""
        return PolicyQuestion(subject=subject, decision=rule, about=about, detail=(shown,))

    async def __call__(self, arguments: str, call: str = "") -> ToolResult:
        """Use the tool with arguments as the model wrote them."""
        try:
            given = parse_json_object(arguments)
        except MalformedReply as refusal:
            return ToolResult(str(refusal), is_ok=False)
        if has_mark(arguments):
            return ToolResult(_UNSHOWN, is_ok=False, failure=ServerFailure.REFUSED)
        return await self.answer(self.definition, dict(given), call)


def is_usable(settings: McpServerSettings, definition: ToolDefinition) -> bool:
    """Return True if models can use a tool: not with a name or a schema of its arguments that is too long for them."""
    name = f"{settings.name}{MCP_MARK}{definition.name}"
    return _NAME.fullmatch(name) is not None and len(definition.schema_text) <= _SCHEMA_CHARS


def build_server_tool(settings: McpServerSettings, definition: ToolDefinition, answer: AnswerCall) -> ServerTool | None:
    """Return the tool as a conversation is offered it; None for one whose name or arguments no model could use."""
    if not is_usable(settings, definition):
        return None
    words = strip_controls(definition.description)[:_DESCRIPTION_CHARS]
    description = f"A tool of the server {settings.name}, which says of it:\n{fence_text('server', words)}"

    async def use_unnamed(arguments: ServerToolArguments) -> ToolResult:
        return await answer(definition, arguments.model_dump(), "")

    return ServerTool(
        f"{settings.name}{MCP_MARK}{definition.name}",
        description,
        ServerToolArguments,
        use_unnamed,
        reach=ToolReach.SERVER,
        server=settings.name,
        is_repeatable=definition.is_repeatable,
        definition=definition,
        approval=settings.approval,
        answer=answer,
    )


def clean_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a server's tool as models are shown it: with short words and nothing invisible."""
    cleaned = _clean_node(schema, 0)
    if not isinstance(cleaned, dict) or cleaned.get("type") != "object":
        return {"type": "object", "properties": {}}
    cleaned.setdefault("properties", {})
    return cleaned


def _clean_node(node: object, depth: int) -> object:
    if depth > _MAX_DEPTH:
        return {}
    if isinstance(node, str):
        return strip_controls(node)[:_NOTE_CHARS]
    if isinstance(node, list):
        return [_clean_node(item, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, object] = {}
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            kept[key] = {strip_controls(name): _clean_node(inner, depth + 2) for name, inner in value.items()}
        elif key not in _LEFT_OUT_KEYS:
            kept[strip_controls(key)] = _clean_node(value, depth + 1)
    return kept
