"""Servers of tools: tables [[mcp]] for the double, and a conversation that uses one in a real workspace."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.agent.mcp.live_servers import LiveServers
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tools.base import ToolResult
from orchestrator.config.layers import load_config
from orchestrator.config.mcp import McpServerSettings
from orchestrator.config.model import ApprovalSettings
from orchestrator.config.policy_file import WatchedPolicyFile
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.engine.control.policy_guard import RunPolicyGuard
from orchestrator.journal.journal import Journal
from orchestrator.ports.hands import Workspace
from prompts import SHIPPED_PROMPTS

SERVER = Path(__file__).parents[1] / "doubles" / "servers" / "tool_server.py"
TASK = TaskId("a")


def server_table(*words: str, **more: Any) -> dict[str, Any]:
    """A table of the double, which behaves as the first word says."""
    folders = [str(SERVER.parent), *dict.fromkeys((sys.prefix, sys.base_prefix))]
    return {"name": "echoes", "command": [sys.executable, str(SERVER), *words], "read_only": folders, **more}


def with_server(*words: str, **more: Any) -> dict[str, Any]:
    """Flags of a run whose worker may use the double."""
    return {"mcp": [server_table(*words, **more)]}


@dataclass
class Talk:
    """A conversation with the tools of its servers."""

    spec: SessionSpec
    journal: Journal

    async def use(self, name: str = "echoes__echo", **arguments: Any) -> ToolResult:
        """What a tool gives."""
        return await self.spec.tools[name](json.dumps(arguments), "tool/work:a@1/0/0")

    @property
    def questions(self) -> list[tuple[str, tuple[str, ...]]]:
        """The questions that people were asked, with their lines."""
        return [(one.approval.item, one.approval.detail) for one in self.journal.state.approvals.values()]

    @property
    def notices(self) -> list[str]:
        """The subjects of the notices about servers."""
        return [one.subject for one in self.journal.state.notices if one.code.startswith("mcp")]

    async def answer(self, decision: str) -> None:
        """Answer the latest question."""
        item = self.questions[-1][0]
        await self.journal.append(ApprovalDecided.model_validate({"item": item, "decision": decision, "by": "ada"}))


@asynccontextmanager
async def open_talk(
    journal: Journal,
    workspace: Workspace | None,
    pins: Path,
    *tables: Mapping[str, Any],
    rules: Path | None = None,
) -> AsyncIterator[Talk]:
    """Hold a conversation of a worker with servers, whose pins lie in `pins`, under the policy in a file."""
    settings = tuple(map(McpServerSettings.model_validate, tables))
    watched = WatchedPolicyFile(rules) if rules else None
    policy = RunPolicyGuard(journal, watched, "", ApprovalSettings, is_named=False)
    await policy.open_rules()
    spec = SessionSpec(
        id=SessionId("work:a@1"),
        role="worker",
        task=TASK,
        settings=load_config(None, environ={}).config.roles.worker,
        prompt="",
        system="",
        brief="",
        tools={},
        workspace=workspace,
    )
    async with LiveServers(settings, pins).open_tools(spec, journal, policy, SHIPPED_PROMPTS) as equipped:
        yield Talk(equipped, journal)
