"""The list of tools that a policy can mean is that of the tools there are."""

import importlib
import pkgutil
import re
from pathlib import Path

from orchestrator.agent import tools
from orchestrator.agent.tools.base import ToolArguments
from orchestrator.agent.tools.known_tools import KNOWN_TOOLS, PATH_TOOLS, WRITING_TOOLS

FOLDER = Path(tools.__file__).parent
BUILT = re.compile(r'Tool\(\s*"(?P<name>\w+)",\s*[^,]+,\s*(?P<arguments>\w+),[^)]*\)')


def read_built_tools() -> dict[str, tuple[type[ToolArguments], bool]]:
    """The tools that the modules build: their arguments, and if they write files."""
    found = {}
    for module in pkgutil.iter_modules([str(FOLDER)]):
        source = (FOLDER / f"{module.name}.py").read_text()
        loaded = importlib.import_module(f"orchestrator.agent.tools.{module.name}")
        for built in BUILT.finditer(source):
            writes = "is_mutating" in built[0] and "ToolReach.FILES" in built[0]
            found[built["name"]] = getattr(loaded, built["arguments"]), writes
    return found


def test_the_list_of_tools_is_that_of_the_tools_there_are() -> None:
    built = read_built_tools()
    assert built.keys() == KNOWN_TOOLS
    assert {name for name, (kind, _) in built.items() if "path" in kind.model_fields} == PATH_TOOLS
    assert {name for name, (_, writes) in built.items() if writes} == WRITING_TOOLS
