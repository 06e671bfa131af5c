"""The definition of a server's tool: what a pin holds it to, and what has changed since. Pure."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.blob_text import Text
from orchestrator.domain.text.sanitization import to_one_line

_DIGEST_CHARS = 16
_QUOTED_CHARS = 300


class ServerFailure(StrEnum):
    """The reason that a call of a server's tool has no answer of that tool."""

    UNAVAILABLE = "unavailable"
    TIMED_OUT = "timed-out"
    FLOODED = "flooded"
    GONE = "gone"
    REFUSED = "refused"
    WITHHELD = "withheld"
    UNKNOWN = "unknown"


class ToolDefinition(FrozenModel):
    """A tool as its server describes it; `schema_text` is the JSON Schema of its arguments, with sorted keys.

    The last two are the server's own word on what a call of it does.
    """

    name: str
    description: str = ""
    schema_text: str = "{}"
    is_read_only: bool = False
    is_idempotent: bool = False

    @property
    def is_repeatable(self) -> bool:
        """True if a call may be made again when nobody knows if it was made."""
        return self.is_read_only or self.is_idempotent

    @property
    def digest(self) -> str:
        """The hash of all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:_DIGEST_CHARS]


class OfferedServer(FrozenModel):
    """A server whose tools a conversation is offered: `tools` are their definitions, `digest` the hash of all."""

    server: str
    digest: str
    tools: Text


class ToolDifference(FrozenModel):
    """One tool that is not as it was pinned, with lines for people that say in what."""

    name: str
    kind: Literal["changed", "new"]
    lines: tuple[str, ...]


def digest_tools(tools: Sequence[ToolDefinition]) -> str:
    """Return the hash of definitions, whatever their order."""
    text = "\0".join(sorted(f"{tool.name}={tool.digest}" for tool in tools))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]


def format_definitions(tools: Sequence[ToolDefinition]) -> str:
    """Return definitions as JSON text."""
    return json.dumps([tool.model_dump() for tool in tools], ensure_ascii=False, sort_keys=True)


def parse_definitions(text: str) -> tuple[ToolDefinition, ...]:
    """Return the definitions that `format_definitions` wrote.

    Raises:
        ValueError: it is no such text.
    """
    found = json.loads(text)
    if not isinstance(found, list):
        raise ValueError("definitions of tools are a list")  # noqa: TRY004 - it is a text that is wrong
    return tuple(map(ToolDefinition.model_validate, found))


def compare_tools(pinned: Sequence[ToolDefinition], seen: Sequence[ToolDefinition]) -> tuple[ToolDifference, ...]:
    """Return what was seen that is not as it was pinned. A tool that is gone is no difference: nobody can call it."""
    before = {tool.name: tool for tool in pinned}
    found = []
    for tool in seen:
        known = before.get(tool.name)
        if known is None:
            described = f"new tool {tool.name}: {_quote(tool.description)}"
            lines: tuple[str, ...] = (described, f"its arguments: {_quote(tool.schema_text)}")
            found.append(ToolDifference(name=tool.name, kind="new", lines=lines))
        elif known != tool:
            lines = tuple(_describe_change(known, tool))
            found.append(ToolDifference(name=tool.name, kind="changed", lines=lines))
    return tuple(found)


def _describe_change(known: ToolDefinition, tool: ToolDefinition) -> Iterator[str]:
    if known.description != tool.description:
        yield f"{tool.name} was described so: {_quote(known.description)}"
        yield f"{tool.name} is described so now: {_quote(tool.description)}"
    if known.schema_text != tool.schema_text:
        yield f"{tool.name} took these arguments: {_quote(known.schema_text)}"
        yield f"{tool.name} takes these now: {_quote(tool.schema_text)}"
    if known.is_read_only != tool.is_read_only:
        yield f"{tool.name} {_name_effect(known.is_read_only)}, and now {_name_effect(tool.is_read_only)}"
    if known.is_idempotent != tool.is_idempotent:
        yield f"{tool.name} says otherwise than before if a repeated call does more than one"


def _name_effect(is_read_only: bool) -> str:
    if is_read_only:
        return "says that it only reads"
    return "does not say that it only reads"


def _quote(text: str) -> str:
    """Return the beginning of a text of a server's on one line, so that nothing in it looks like a line of ours."""
    return f"«{to_one_line(text, _QUOTED_CHARS)}»"
