"""Servers of tools for runs: tables [[mcp]] for the double, and what became of them."""

import sys
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parents[1] / "doubles" / "servers" / "tool_server.py"


def server_table(*words: str, **more: Any) -> dict[str, Any]:
    """A table of the double, which behaves as the first word says."""
    folders = [str(SERVER.parent), *dict.fromkeys((sys.prefix, sys.base_prefix))]
    return {"name": "echoes", "command": [sys.executable, str(SERVER), *words], "read_only": folders, **more}


def with_server(*words: str, **more: Any) -> dict[str, Any]:
    """Flags of a run whose worker may use the double."""
    return {"mcp": [server_table(*words, **more)]}
