"""Servers of tools cost a run nothing that names none."""

import subprocess
import sys

from orchestrator.app.tool_servers import open_tool_servers
from orchestrator.config.layers import load_config

SCRIPT = """
import sys
import orchestrator.app.wiring
print(sorted(name for name in sys.modules if name == "mcp" or name.startswith(("mcp.", "orchestrator.agent.mcp"))))
"""


def test_without_a_table_there_are_no_servers() -> None:
    assert open_tool_servers(load_config(None, environ={}).config) is None


def test_neither_the_sdk_nor_what_speaks_with_servers_is_loaded_with_an_engine() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_with_a_table_nothing_of_the_sdk_is_loaded_before_a_server_is_needed() -> None:
    flags = {"mcp": [{"name": "clock", "command": ["clock"]}]}
    script = f"""
import sys
from orchestrator.app.tool_servers import open_tool_servers
from orchestrator.config.layers import load_config
assert open_tool_servers(load_config(None, {flags!r}, environ={{}}).config) is not None
print("mcp" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
