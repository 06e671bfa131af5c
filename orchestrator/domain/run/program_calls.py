"""The calls of tools that a program of an agent's made."""

from typing import Literal, get_args

from orchestrator.domain.frozen_model import FrozenModel

ProgramTool = Literal["read", "list_files", "search", "write", "edit", "run"]
"""The tools that a program can import."""
PROGRAM_TOOLS: tuple[ProgramTool, ...] = get_args(ProgramTool)


class ProgramCalls(FrozenModel):
    """Calls by tool, and the first paths that were named, as the program's own module tells: its word, not evidence.

    `more_paths` counts the paths that are left out. `is_cut` tells that it called more than is recorded.
    """

    counts: dict[ProgramTool, int]
    paths: tuple[str, ...] = ()
    more_paths: int = 0
    is_cut: bool = False
