"""File tools: read, list, search, edit, write. They need no sandbox: the workspace itself keeps them inside."""

from pydantic import Field

from orchestrator.agent.edits.editor import apply_edit
from orchestrator.agent.edits.refusals import EditRefusal
from orchestrator.agent.tools.base import CommandText, Tool, ToolArguments, ToolResult
from orchestrator.domain.sandbox.tier import ToolReach
from orchestrator.domain.text.listing import limit_lines
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import Workspace

_MAX_LINES = 400
_MAX_MATCHES = 100
_MAX_PATHS = 400


class ReadArguments(ToolArguments):
    """Arguments of `read`."""

    path: CommandText = Field(description="File, relative to the repository.")
    start: int = Field(1, ge=1, description="First line, counted from 1.")
    end: int | None = Field(None, description=f"Last line; at most {_MAX_LINES} lines are shown.")


class ListArguments(ToolArguments):
    """Arguments of `list`."""

    glob: CommandText = Field("**", description="Which files, for example src/**/*.py.")


class SearchArguments(ToolArguments):
    """Arguments of `search`."""

    pattern: CommandText = Field(description="POSIX extended regular expression.")
    glob: CommandText = Field("**", description="Which files, for example src/**/*.py.")


class EditArguments(ToolArguments):
    """Arguments of `edit`."""

    path: CommandText = Field(description="File, relative to the repository.")
    old: str = Field(description="The text to replace, copied exactly; it must occur once.")
    new: str = Field(description="What stands there instead.")
    replace_all: bool = Field(False, description="Replace every exact occurrence.")


class WriteArguments(ToolArguments):
    """Arguments of `write`."""

    path: CommandText = Field(description="File, relative to the repository.")
    text: str = Field(description="The whole new content.")


def build_read_tool(workspace: Workspace) -> Tool[ReadArguments]:
    """Return the tool that shows lines of a file with their numbers."""

    async def read_lines(arguments: ReadArguments) -> ToolResult:
        lines = _split_lines(await workspace.read_file(arguments.path))
        last = min(arguments.end or len(lines), arguments.start + _MAX_LINES - 1, len(lines))
        if arguments.start > max(len(lines), 1):
            raise ToolRefused(f"{arguments.path} has {len(lines)} lines")
        if arguments.end is not None and arguments.end < arguments.start:
            raise ToolRefused(f"the last line, {arguments.end}, comes before the first, {arguments.start}")
        shown = []
        for number in range(arguments.start, last + 1):
            shown.append(f"{number}\t{lines[number - 1]}")
        if last < len(lines):
            shown.append(f"[{len(lines) - last} more lines of {len(lines)}]")
        return ToolResult("\n".join(shown) or "[empty file]")

    what = "Show a file, or some of its lines, with line numbers."
    return Tool("read", what, ReadArguments, read_lines, reach=ToolReach.FILES)


def _split_lines(content: bytes) -> list[str]:
    """Return lines as git and `edit` count them: only a line feed ends one."""
    text = content.decode("utf-8", "replace")
    if not text:
        return []
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def build_list_tool(workspace: Workspace) -> Tool[ListArguments]:
    """Return the tool that lists files."""

    async def list_files(arguments: ListArguments) -> ToolResult:
        found = await workspace.list_paths(arguments.glob)
        shown = limit_lines(found, _MAX_PATHS, f"[{{count}} more of {len(found)}]")
        return ToolResult("\n".join(shown) or f"no file fits {arguments.glob}")

    return Tool("list", "List the files of the repository.", ListArguments, list_files, reach=ToolReach.FILES)


def build_search_tool(workspace: Workspace) -> Tool[SearchArguments]:
    """Return the tool that finds lines."""

    async def search_lines(arguments: SearchArguments) -> ToolResult:
        found = await workspace.search_text(arguments.pattern, arguments.glob, _MAX_MATCHES + 1)
        shown = limit_lines(found, _MAX_MATCHES, f"[more than {_MAX_MATCHES} lines match: narrow the pattern]")
        return ToolResult("\n".join(shown) or "no line matches")

    what = "Find lines that match a regular expression, as path:line:text."
    return Tool("search", what, SearchArguments, search_lines, reach=ToolReach.FILES)


def build_edit_tool(workspace: Workspace) -> Tool[EditArguments]:
    """Return the tool that replaces a text which occurs once."""

    async def edit_file(arguments: EditArguments) -> ToolResult:
        content = await workspace.read_file(arguments.path)
        edited = apply_edit(content, arguments.old, arguments.new, arguments.replace_all)
        if isinstance(edited, EditRefusal):
            raise ToolRefused(f"{arguments.path} was not changed. {edited.text}")
        await workspace.write_file(arguments.path, edited.content)
        return ToolResult(f"{arguments.path}: {edited.summary}")

    what = "Replace a piece of text in a file. It must occur exactly once."
    return Tool("edit", what, EditArguments, edit_file, is_mutating=True, reach=ToolReach.FILES)


def build_write_tool(workspace: Workspace) -> Tool[WriteArguments]:
    """Return the tool that writes a whole file."""

    async def write_file(arguments: WriteArguments) -> ToolResult:
        content = arguments.text.encode("utf-8")
        await workspace.write_file(arguments.path, content)
        return ToolResult(f"wrote {arguments.path} ({len(content)} bytes)")

    what = "Create a file, or replace its whole content."
    return Tool("write", what, WriteArguments, write_file, is_mutating=True, reach=ToolReach.FILES)
