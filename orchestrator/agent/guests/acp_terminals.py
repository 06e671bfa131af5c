"""The terminals of an ACP agent: commands of its workspace, bounded in number and output, and dead at its end.

They reach the hosts of the agent's engine and have none of its credentials.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio

from orchestrator.agent.guests.acp_requests import AgentFiles, RequestRules
from orchestrator.domain.policy.rules import PolicySubject
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace

_MAX_OPEN = 16
_MAX_STARTED = 256
_MAX_OUTPUT_BYTES = 1024 * 1024
"""Most of a terminal's output that is told at once: its last bytes."""
_MAX_VARIABLES = 200
_MAX_LINE_CHARS = 100_000
_CANNOT_START = 126


@dataclass(frozen=True)
class TerminalWish:
    """A command that an agent wants to run: its words, variables, directory, and how much of its output it keeps."""

    command: str
    arguments: Sequence[str]
    variables: Mapping[str, str]
    folder: str | None
    output_bytes: int | None

    @property
    def line(self) -> str:
        """The line for the shell; a command without arguments is one already."""
        return shlex.join((self.command, *self.arguments)) if self.arguments else self.command


class AgentTerminals:
    """The terminals of one agent; `template` is a command with all that each of them is granted."""

    def __init__(self, workspace: Workspace, files: AgentFiles, rules: RequestRules, template: ShellCommand) -> None:
        self._workspace = workspace
        self._files = files
        self._rules = rules
        self._template = template
        self._open: dict[str, int] = {}
        self._started: list[str] = []

    async def create_terminal(self, wish: TerminalWish) -> str:
        """Start a command; return the id of its terminal.

        Raises:
            ToolRefused: the policy does not allow it, too many are open, or it cannot be run as asked.
        """
        if len(self._open) >= _MAX_OPEN:
            raise ToolRefused(f"{_MAX_OPEN} terminals are open: release one first.")
        if len(self._started) >= _MAX_STARTED:
            raise ToolRefused(f"{_MAX_STARTED} terminals were opened: there are no more. Use your own shell.")
        if len(wish.variables) > _MAX_VARIABLES:
            raise ToolRefused(f"More than {_MAX_VARIABLES} variables for one command are refused.")
        if len(wish.line) > _MAX_LINE_CHARS:
            raise ToolRefused(f"A command of more than {_MAX_LINE_CHARS:,} characters is refused: write a script.")
        folder = self._files.find_folder(wish.folder)
        await self._rules.require_leave(PolicySubject(kind="tool", name="shell"))
        variables = {**self._template.env, **wish.variables}
        command = self._template.model_copy(update={"line": wish.line, "cwd": folder, "env": variables})
        name = f"terminal-{uuid4().hex}"
        await self._workspace.start_command(name, command)
        self._started.append(name)
        self._open[name] = min(wish.output_bytes or _MAX_OUTPUT_BYTES, _MAX_OUTPUT_BYTES)
        return name

    async def read_output(self, name: str) -> Mapping[str, Any]:
        """Return the end of what a terminal's command has printed, and how it ended if it did.

        Raises:
            ToolRefused: there is no such terminal.
        """
        limit = self._find_limit(name)
        result = await self._workspace.wait_for_result(name, 0)
        output = await self._workspace.read_output(name, limit)
        content = output.content.lstrip(bytes(range(0x80, 0xC0))) if output.is_cut else output.content
        answer: dict[str, Any] = {"output": content.decode("utf-8", "replace"), "truncated": output.is_cut}
        if result is not None:
            answer["exitStatus"] = describe_exit(result)
            answer["output"] += _describe_trouble(result)
        return answer

    async def find_exit(self, name: str) -> Mapping[str, Any] | None:
        """Return how a terminal's command ended; None while it runs.

        Raises:
            ToolRefused: there is no such terminal.
        """
        self._find_limit(name)
        result = await self._workspace.wait_for_result(name, 0)
        return None if result is None else describe_exit(result)

    async def kill_terminal(self, name: str) -> None:
        """End a terminal's command; its output stays.

        Raises:
            ToolRefused: there is no such terminal.
        """
        self._find_limit(name)
        await self._workspace.kill_command(name)

    async def release_terminal(self, name: str) -> None:
        """End a terminal's command and forget the terminal.

        Raises:
            ToolRefused: there is no such terminal.
        """
        await self.kill_terminal(name)
        del self._open[name]

    async def kill_all(self) -> None:
        """End the commands of all terminals that there ever were."""
        async with anyio.create_task_group() as tasks:
            for name in self._started:
                tasks.start_soon(self._workspace.kill_command, name)

    def _find_limit(self, name: str) -> int:
        """Return how many bytes of output an open terminal keeps."""
        limit = self._open.get(name)
        if limit is None:
            raise ToolRefused(f"There is no open terminal {name[:80]!r}.")
        return limit


def describe_exit(result: CommandResult) -> Mapping[str, Any]:
    """Return how a command ended as the protocol says it."""
    if result.ending == CommandEnding.EXITED:
        return {"exitCode": result.exit_code, "signal": None}
    if result.ending == CommandEnding.NOT_STARTED:
        return {"exitCode": _CANNOT_START, "signal": None}
    return {"exitCode": None, "signal": "SIGKILL"}


def _describe_trouble(result: CommandResult) -> str:
    """Return in words why a command did not end by itself, for the end of its output."""
    if result.ending == CommandEnding.EXITED:
        return ""
    return f"\n[{result.ending} after {result.seconds:.1f} s] {result.detail}".rstrip()
