"""The shell tool: a command in the workspace's sandbox."""

from collections.abc import Callable

from pydantic import Field

from orchestrator.agent.tools.base import CommandText, Tool, ToolArguments, ToolResult
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.sandbox.network import describe_refused_hosts
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace


class ShellArguments(ToolArguments):
    """Arguments of `shell`."""

    command: CommandText = Field(description="A command line for bash. Each call starts anew in the top directory.")
    timeout_s: float = Field(120.0, gt=0, description="Seconds after which the command is ended.")


def build_shell_tool(
    workspace: Workspace,
    longest_s: float,
    output_bytes: int,
    tier: Callable[[], Tier] = lambda: Tier.COMMANDS,
    *,
    is_writing: bool = True,
    host_rules: Callable[[], HostRules | None] = lambda: None,
) -> Tool[ShellArguments]:
    """Return the tool that runs a command at the tier of that time; only the repository can be written, if that."""

    async def run_command_line(arguments: ShellArguments) -> ToolResult:
        command = ShellCommand(
            line=arguments.command,
            timeout_s=min(arguments.timeout_s, longest_s),
            output_bytes=output_bytes,
            writable=is_writing,
            tier=tier(),
            is_agent=True,
            host_rules=host_rules(),
        )
        result, output = await run_and_read(workspace, command)
        text = describe_command_result(result, output)
        return ToolResult(text, is_ok=result.is_success, network=result.network, stray_packets=result.stray_packets)

    place = "the repository and /tmp" if is_writing else "/tmp"
    what = f"Run a command in the repository. {_NETWORK[tier()]}; only {place} can be written."
    return Tool("shell", what, ShellArguments, run_command_line, is_mutating=is_writing, reach=ToolReach.COMMAND)


_NETWORK = {
    Tier.COMMANDS: "No network",
    Tier.REGISTRIES: "The network ends at the package registries",
    Tier.EVERYTHING: "The network is open",
}


def describe_command_result(result: CommandResult, output: str) -> str:
    """Return how a command ended and what the network refused it, then its output."""
    return "\n".join((_describe_ending(result), *_describe_refusals(result), output)).rstrip()


def _describe_refusals(result: CommandResult) -> tuple[str, ...]:
    return tuple(f"[the network refused {line}]" for line in describe_refused_hosts(result.network))


def _describe_ending(result: CommandResult) -> str:
    if result.ending == CommandEnding.EXITED:
        return f"[exit code {result.exit_code}, {result.seconds:.1f} s]"
    return f"[{result.ending} after {result.seconds:.1f} s] {result.detail}".rstrip()
