"""The servers of tools that a configuration names; nothing is loaded where it names none."""

import os
from collections.abc import Mapping

from orchestrator.agent.tool_servers import ToolServers
from orchestrator.config.model import Config
from orchestrator.journal.locations.run_directory import find_pin_directory


def open_tool_servers(config: Config, environ: Mapping[str, str] = os.environ) -> ToolServers | None:
    """Return the servers of a configuration, none of which is started yet; None where there is none."""
    if not config.mcp:
        return None
    from orchestrator.agent.mcp.live_servers import LiveServers  # few runs have any

    return LiveServers(config.mcp, find_pin_directory(config.state.dir, environ))
