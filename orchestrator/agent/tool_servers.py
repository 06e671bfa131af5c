"""Servers of tools as a conversation sees them: a light seam, so that runs without any load nothing for it."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from orchestrator.agent.session_spec import SessionSpec
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.policy import PolicyGuard
from prompts import PromptSource

MCP_PROMPT = "mcp-tools"


class ToolServers(Protocol):
    """Whoever offers the tools of servers to conversations."""

    def open_tools(
        self, spec: SessionSpec, ledger: Ledger, policy: PolicyGuard, prompts: PromptSource
    ) -> AbstractAsyncContextManager[SessionSpec]:
        """Return the conversation with the tools of the servers that its role may use, while the block lasts."""
