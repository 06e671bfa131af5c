"""The servers of a configuration in conversations: who gets which tools, and that nothing of a server is left."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup

from orchestrator.agent.mcp.connection import ServerConnection
from orchestrator.agent.mcp.pin_file import PinFile
from orchestrator.agent.mcp.server_tool import ServerTool
from orchestrator.agent.mcp.session_server import SessionServer
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tool_servers import MCP_PROMPT
from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.mcp.tool_definition import OfferedServer, ToolDefinition, digest_tools, format_definitions
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject
from orchestrator.ports.background_tasks import run_background_tasks
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.policy import PolicyGuard
from prompts import PromptSource


class LiveServers:
    """Servers that really run; implements `ToolServers`. Their pins lie in `pins`."""

    def __init__(self, settings: Sequence[McpServerSettings], pins: Path) -> None:
        self._settings = settings
        self._pins = pins

    @asynccontextmanager
    async def open_tools(
        self, spec: SessionSpec, ledger: Ledger, policy: PolicyGuard, prompts: PromptSource
    ) -> AsyncIterator[SessionSpec]:
        """Return the conversation with the tools of its servers; all of these are dead when the block ends."""
        async with run_background_tasks() as tasks:
            yield await self._offer_tools(spec, ledger, policy, prompts, tasks)

    async def _offer_tools(
        self, spec: SessionSpec, ledger: Ledger, policy: PolicyGuard, prompts: PromptSource, tasks: TaskGroup
    ) -> SessionSpec:
        await policy.take_changes()
        actor = PolicyActor(role=spec.role, variant=spec.variant)
        tools: list[ServerTool] = []
        offered = []
        for settings in self._list_settings(spec, policy, actor):
            rules = partial(policy.build_host_rules, actor)
            connection = ServerConnection(settings, spec.workspace, tasks, rules)
            server = SessionServer(
                connection, PinFile(self._pins, settings), ledger, policy, actor=actor, task=spec.task
            )
            built = await server.build_tools()
            if built:
                tools += built
                offered.append(await record_offer(ledger, settings.name, [tool.definition for tool in built]))
        return add_tools(spec, tools, tuple(offered), prompts)

    def _list_settings(self, spec: SessionSpec, policy: PolicyGuard, actor: PolicyActor) -> Sequence[McpServerSettings]:
        """Return the servers that a conversation may use: those of its role that the policy does not deny."""
        found = []
        for settings in self._settings:
            has_place = bool(settings.url) or spec.workspace is not None
            if spec.role in settings.roles and has_place:
                decision = policy.decide_subject(actor, PolicySubject(kind="mcp", name=settings.name))
                if decision.effect != "deny":
                    found.append(settings)
        return found


async def record_offer(ledger: Ledger, server: str, tools: Sequence[ToolDefinition]) -> OfferedServer:
    """Return what a conversation is offered of a server as its first event keeps it."""
    text = await ledger.store_text(format_definitions(tools))
    return OfferedServer(server=server, digest=digest_tools(tools), tools=text)


def add_tools(
    spec: SessionSpec, tools: Sequence[ServerTool], offered: tuple[OfferedServer, ...], prompts: PromptSource
) -> SessionSpec:
    """Return the conversation with these tools, and with the words on them; the same one without any."""
    if not tools:
        return spec
    names = ", ".join(f"`{tool.name}`" for tool in tools)
    words = prompts.load_prompt(MCP_PROMPT).render_text(tools=names)
    system = f"{spec.system}\n\n{words}"
    return replace(spec, system=system, tools={**spec.tools, **index_tools(*tools)}, servers=offered)
