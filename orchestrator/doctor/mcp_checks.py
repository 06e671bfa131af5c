"""The checks of MCP servers: does each start, which tools does it have, and are they as they were pinned?"""

import os
import shutil
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.agent.mcp.connection import ServerConnection
from orchestrator.agent.mcp.pin_file import PinFile
from orchestrator.agent.mcp.server_limits import ServerProblem
from orchestrator.agent.mcp.server_tool import is_usable
from orchestrator.config.mcp import McpServerSettings
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.ids import CommitId
from orchestrator.domain.mcp.tool_definition import ToolDefinition, compare_tools
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import OrchestrateError
from orchestrator.hands.local import LocalHands
from orchestrator.journal.locations.run_directory import find_pin_directory
from orchestrator.ports.hands import Workspace
from orchestrator.project.options import ProjectContext

_TEXT_CHARS = 1_000


async def check_servers(project: ProjectContext, hands: LocalHands) -> list[DoctorFinding]:
    """Return a finding for each server, all of which are started and ended again. Nothing is pinned."""
    findings = []
    for settings in project.config.mcp:
        missing = "; ".join(await to_thread.run_sync(list, _find_missing_parts(settings)))
        try:
            if missing:
                text, is_ok = missing, False
            elif settings.command and hands.refusal_reason:
                text, is_ok = "not started, since no command runs here", False
            else:
                is_ok, text = await _try_server(project, hands, settings)
        except (OrchestrateError, ServerProblem) as problem:
            text, is_ok = str(problem), False
        advice = "" if is_ok else ": see docs/mcp.md"
        findings.append(DoctorFinding(f"mcp {settings.name}", is_ok, f"{to_one_line(text, _TEXT_CHARS)}{advice}"))
    return findings


def _find_missing_parts(settings: McpServerSettings) -> Iterator[str]:
    """Yield what a server needs and is not there, in words. Blocks."""
    for name in (*settings.env, settings.token_env):
        if name and not os.environ.get(name):
            yield f"the variable {name} is not set"
    if settings.command and shutil.which(str(Path(settings.command[0]).expanduser())) is None:
        yield f"there is no program {settings.command[0]}"
    for folder in settings.read_only:
        if not Path(folder).expanduser().exists():
            yield f"there is no directory {folder} (read_only)"


async def _try_server(project: ProjectContext, hands: LocalHands, settings: McpServerSettings) -> tuple[bool, str]:
    """Return if a server can be used, and what it offers, in words."""
    workspace: Workspace | None = None
    if settings.command:
        base = CommitId(project.repository.read_head_commit())
        workspace = await hands.open_workspace(base, Purpose("doctor"))
    try:
        tools = await _list_tools(settings, workspace)
    finally:
        if workspace is not None:
            with anyio.CancelScope(shield=True):
                await workspace.close()
    allowed = [tool for tool in tools if any(fnmatchcase(tool.name, glob) for glob in settings.tools)]
    pin_file = PinFile(find_pin_directory(project.config.state.dir), settings)
    pin = await to_thread.run_sync(pin_file.read_pin)
    names = ", ".join(tool.name for tool in allowed) or "none that tools allows"
    unusable = [tool.name for tool in allowed if not is_usable(settings, tool)]
    text = f"tools: {names}"
    if unusable:
        text += f"; no model could call {', '.join(unusable)}, whose name or arguments are too long"
    if pin is None:
        return True, f"{text}; not pinned yet: the first run that uses it pins them"
    if differences := compare_tools(pin.tools, allowed):
        changed = ", ".join(f"{one.name} ({one.kind})" for one in differences)
        return False, f"{text}; not as they were pinned: {changed}; a run withholds these and asks you"
    return True, f"{text}; as they were pinned"


async def _list_tools(settings: McpServerSettings, workspace: Workspace | None) -> tuple[ToolDefinition, ...]:
    """Return the tools of a server that is started for it, and ended."""
    found: tuple[ToolDefinition, ...] = ()
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            found = await ServerConnection(settings, workspace, tasks).list_tools()
        except (OrchestrateError, ServerProblem) as error:
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return found
