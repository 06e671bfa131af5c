"""Tools for looking around: a ranked map, the log, blame, and the tests that concern a path.

They read git objects in the control plane and change nothing. What they show is data written by others: fenced.
"""

from pydantic import Field

from orchestrator.agent.tools.base import AnyTool, CommandText, Tool, ToolArguments, ToolResult
from orchestrator.domain.ids import CommitId
from orchestrator.domain.sandbox.tier import ToolReach
from orchestrator.domain.text.listing import join_limited, limit_lines
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import ToolRefused
from orchestrator.ports.codebase import Codebase, MapRequest
from prompts import fence_text

_MAX_COMMITS = 50
_MAX_LINES = 200
_MAX_PATHS = 8
_MAX_TESTS = 60


class MapArguments(ToolArguments):
    """Arguments of `map`."""

    path: CommandText = Field("", description="A folder or file; without it the whole repository.")
    words: CommandText = Field("", description="What you look for: names, files, words. They decide what comes first.")


class LogArguments(ToolArguments):
    """Arguments of `log`."""

    path: CommandText = Field("", description="A folder or file; without it the whole repository.")
    n: int = Field(20, ge=1, le=_MAX_COMMITS, description="How many commits at most, newest first.")


class BlameArguments(ToolArguments):
    """Arguments of `blame`."""

    path: CommandText = Field(description="File, relative to the repository.")
    start: int = Field(1, ge=1, description="First line, counted from 1.")
    end: int | None = Field(None, ge=1, description=f"Last line; at most {_MAX_LINES} lines are shown.")


class TestsArguments(ToolArguments):
    """Arguments of `tests`."""

    path: CommandText = Field(description="A file or folder that you want to change.")


def build_codebase_tools(codebase: Codebase, commit: CommitId, tokens: int) -> list[AnyTool]:
    """Return the tools that look around in a codebase as it is in `commit`; a map has at most so many tokens."""
    return [
        build_map_tool(codebase, commit, tokens),
        build_log_tool(codebase),
        build_blame_tool(codebase),
        build_tests_tool(codebase, commit),
    ]


def build_map_tool(codebase: Codebase, commit: CommitId, tokens: int) -> Tool[MapArguments]:
    """Return the tool that draws a map of a part of the repository, or for words."""

    async def draw_map(arguments: MapArguments) -> ToolResult:
        texts = (arguments.words,) if arguments.words else ()
        drawn = await codebase.draw_map(MapRequest(commit, texts, tokens, arguments.path))
        return ToolResult(fence_text("map", drawn))

    what = (
        "Show the most important files and their symbols with line numbers, as they were when you began: those that "
        "others refer to, and that your words name."
    )
    return Tool("map", what, MapArguments, draw_map, reach=ToolReach.FILES)


def build_log_tool(codebase: Codebase) -> Tool[LogArguments]:
    """Return the tool that lists commits of the run's base."""

    async def read_log(arguments: LogArguments) -> ToolResult:
        entries = await codebase.read_log(arguments.n, arguments.path)
        lines = []
        for entry in entries:
            lines.append(f"{entry.commit} {entry.date} {entry.subject}")
            if entry.paths:
                lines.append(f"    {join_limited(entry.paths, _MAX_PATHS)}")
        return ToolResult(fence_text("log", "\n".join(lines) or "no commit"))

    what = "List the newest commits from before this run with the files that they changed; those of a path if given."
    return Tool("log", what, LogArguments, read_log, reach=ToolReach.FILES)


def build_blame_tool(codebase: Codebase) -> Tool[BlameArguments]:
    """Return the tool that tells which commit lines come from."""

    async def blame_lines(arguments: BlameArguments) -> ToolResult:
        last = arguments.start + _MAX_LINES - 1
        end = min(arguments.end or last, last)
        if end < arguments.start:
            raise ToolRefused(f"the last line, {end}, comes before the first, {arguments.start}")
        found = await codebase.blame_lines(arguments.path, arguments.start, end)
        lines = []
        for line in found:
            lines.append(f"{line.commit} {line.date} {line.number}\t{line.text}")
        return ToolResult(fence_text("blame", "\n".join(lines) or "no line"))

    what = "Tell which commit from before this run each line of a file comes from, and when it was written."
    return Tool("blame", what, BlameArguments, blame_lines, reach=ToolReach.FILES)


def build_tests_tool(codebase: Codebase, commit: CommitId) -> Tool[TestsArguments]:
    """Return the tool that lists the tests which concern a path."""

    async def find_tests(arguments: TestsArguments) -> ToolResult:
        found = await codebase.find_tests(commit, arguments.path)
        how = "by name and imports" if found.by_imports else "by name alone: the repository is too large for imports"
        if not found.files:
            return ToolResult(f"no file of tests is known to concern {arguments.path} ({how})")
        lines = limit_lines(list(map(to_one_line, found.files)), _MAX_TESTS, f"[{{count}} more of {len(found.files)}]")
        return ToolResult(
            f"{len(found.files)} files, {how}, the closest first\n{fence_text('tests', chr(10).join(lines))}"
        )

    what = "List the files of tests that concern a path: called like it, or importing it by whatever way round."
    return Tool("tests", what, TestsArguments, find_tests, reach=ToolReach.FILES)
