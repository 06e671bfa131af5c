"""The command that runs a program in the sandbox, and its record of the tools that the program called.

The sources of the tools go in on standard input, so that nothing is mounted and nothing of the host is reachable that
a command could not reach.
"""

import json
import shlex
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import resources

from orchestrator.agent.program.program_tools import MAX_RECORDED
from orchestrator.domain.run.program_calls import PROGRAM_TOOLS, ProgramCalls, ProgramTool
from orchestrator.hands.toolchain.interpreters import get_own_python

RECORD_VARIABLE = "ORCHESTRATE_PROGRAM_RECORD"
RECORD_FILE = "program-calls"
_MAX_PATHS = 200
_MAX_PATH_CHARS = 500
_FROZEN_MODEL = "orchestrator.domain.frozen_model"
_STAND_IN = "orchestrator.agent.program.plain_values"
BUNDLED_MODULES = (
    "orchestrator.agent.edits.editor",
    "orchestrator.agent.edits.file_text",
    "orchestrator.agent.edits.refusals",
    "orchestrator.agent.edits.replacement",
    "orchestrator.agent.program.program_tools",
    "orchestrator.domain.text.lazy_pattern",
    "orchestrator.domain.text.listing",
    "orchestrator.domain.text.truncation",
    "orchestrator.errors",
    "orchestrator.hands.files.safe_open",
    "orchestrator.hands.files.workspace_files",
    "worktrees.checkouts.file_search",
    "worktrees.errors",
    "worktrees.records",
    "worktrees.safety.descriptors",
    "worktrees.safety.removal",
)
"""The modules of a program's tools, but for the stand-in for pydantic; the standard library is inside."""


def build_program_line() -> str:
    """Return the command line that runs a program: by our own Python, which every sandbox holds.

    The sandbox's self-test was made by the same interpreter, so where commands run there is one.
    """
    script = _read_source("orchestrator.agent.program.bootstrap")
    words = (str(get_own_python()), "-I", "-S", "-X", "utf8", "-c", script)
    return f"exec {shlex.join(words)}"


def build_program_input(program: str) -> str:
    """Return what that command reads on its standard input."""
    return json.dumps({"program": program, "record": RECORD_VARIABLE, "sources": load_sources()})


@cache
def load_sources() -> dict[str, str]:
    """Return the sources of the tools by the names under which they are imported inside."""
    sources = {name: _read_source(name) for name in BUNDLED_MODULES}
    return sources | {_FROZEN_MODEL: _read_source(_STAND_IN)}


def _read_source(module: str) -> str:
    package, _, name = module.rpartition(".")
    return resources.files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")


def read_program_calls(record: bytes | None) -> ProgramCalls | None:
    """Return the calls in a record, which anybody inside may have written; None where there is no record."""
    if record is None:
        return None
    called, paths = Counter[str](), dict[str, None]()
    lines = record.splitlines()
    for line in lines[:MAX_RECORDED]:
        with suppress(ValueError, RecursionError):
            match json.loads(line):
                case [str(tool), str(path)] if tool in PROGRAM_TOOLS:
                    called[tool] += 1
                    if path:
                        paths[path[:_MAX_PATH_CHARS]] = None
    counts: dict[ProgramTool, int] = {}
    for known in PROGRAM_TOOLS:
        if called[known]:
            counts[known] = called[known]
    shown = tuple(paths)[:_MAX_PATHS]
    more = len(paths) - len(shown)
    return ProgramCalls(counts=counts, paths=shown, more_paths=more, is_cut=len(lines) >= MAX_RECORDED)
