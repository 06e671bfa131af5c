"""The pins of servers: the definitions of tools that their user goes by, kept over all runs and repositories.

The first sight of a server pins it. What differs later waits as a proposal until a person approves of it.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.mcp.tool_definition import ToolDefinition, format_definitions, parse_definitions
from orchestrator.errors import EnvironmentProblem
from worktrees.durable_files import write_durably
from worktrees.safety.private_directory import create_private_directory

_ORIGIN_CHARS = 8


@dataclass(frozen=True)
class ServerPin:
    """The definitions that are pinned, and those that were seen since and wait for a person."""

    tools: tuple[ToolDefinition, ...]
    proposed: tuple[ToolDefinition, ...] = ()


class PinFile:
    """The pin of one server, below a directory of the user's state. Another command or url has a pin of its own."""

    def __init__(self, directory: Path, settings: McpServerSettings) -> None:
        origin = hashlib.sha256(settings.origin.encode()).hexdigest()[:_ORIGIN_CHARS]
        self.path = directory / f"{settings.name}-{origin}.json"

    def read_pin(self) -> ServerPin | None:
        """Return the pin; None at the first sight of a server. Blocks.

        Raises:
            EnvironmentProblem: the file cannot be read, or holds something else.
        """
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            return ServerPin(parse_definitions(found["tools"]), parse_definitions(found["proposed"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EnvironmentProblem(
                f"the pin {self.path} of an MCP server cannot be read ({error}): remove it to pin the server anew"
            ) from error

    def write_pin(self, pin: ServerPin) -> None:
        """Replace the pin. Blocks.

        Raises:
            EnvironmentProblem: it cannot be written.
        """
        text = json.dumps({"tools": format_definitions(pin.tools), "proposed": format_definitions(pin.proposed)})
        try:
            create_private_directory(self.path.parent)
            write_durably(self.path, text.encode())
        except OSError as error:
            raise EnvironmentProblem(
                f"the pin {self.path} of an MCP server cannot be written ({error.strerror or error})"
            ) from error


def merge_tools(pinned: tuple[ToolDefinition, ...], seen: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
    """Return the pinned definitions with those that were seen in their place or beside them, by name."""
    merged = {tool.name: tool for tool in (*pinned, *seen)}
    return tuple(merged[name] for name in sorted(merged))
