"""The tool of code mode: one Python program that uses the tools itself, of which only what it prints is shown."""

from collections.abc import Callable

from pydantic import Field

from orchestrator.agent.program import program_command
from orchestrator.agent.tools.base import CommandText, Tool, ToolArguments, ToolResult
from orchestrator.agent.tools.shell import describe_command_result
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.ports.hands import ShellCommand, Workspace

_READING = """\
Run one Python program that uses tools itself. Only what it prints comes back: let it look at much and print little. \
It runs in the sandbox like a command, at the top of the repository, with Python's standard library and this module:
from tools import read, list_files, search, run, Refused
read(path: str, first: int | None = None, last: int | None = None) -> str  # a file's text, or its lines first to last
list_files(path: str = ".", glob: str | None = None) -> list[str]
search(pattern: str, path: str = ".", glob: str | None = None) -> list[Match]  # Match(path, line, text)
run(command: str, timeout_s: float | None = None) -> Result  # Result(exit_code, output); no exit code: timeout
"""
_WRITING = """\
write(path: str, content: str) -> None  # from tools import write, edit
edit(path: str, old: str, new: str, replace_all: bool = False) -> str
"""
_ENDING = "They raise Refused where the tools of these names would refuse."


class ProgramArguments(ToolArguments):
    """Arguments of `program`."""

    code: CommandText = Field(description="The Python program.")
    timeout_s: float = Field(120.0, gt=0, description="Seconds after which the program is ended.")


def build_program_tool(
    workspace: Workspace,
    longest_s: float,
    output_bytes: int,
    tier: Callable[[], Tier] = lambda: Tier.COMMANDS,
    *,
    is_writing: bool = True,
    host_rules: Callable[[], HostRules | None] = lambda: None,
) -> Tool[ProgramArguments]:
    """Return the tool that runs a program as `shell` runs a command: same sandbox, tier, limits and output."""

    async def run_program(arguments: ProgramArguments) -> ToolResult:
        command = ShellCommand(
            line=program_command.build_program_line(),
            stdin=program_command.build_program_input(arguments.code),
            files={program_command.RECORD_VARIABLE: program_command.RECORD_FILE},
            timeout_s=min(arguments.timeout_s, longest_s),
            output_bytes=output_bytes,
            writable=is_writing,
            tier=tier(),
            is_agent=True,
            host_rules=host_rules(),
        )
        result, output = await run_and_read(workspace, command)
        return ToolResult(
            describe_command_result(result, output),
            is_ok=result.is_success,
            network=result.network,
            stray_packets=result.stray_packets,
            program=program_command.read_program_calls(result.files.get(program_command.RECORD_VARIABLE)),
        )

    what = f"{_READING}{_WRITING if is_writing else ''}{_ENDING}"
    return Tool("program", what, ProgramArguments, run_program, is_mutating=is_writing, reach=ToolReach.COMMAND)
