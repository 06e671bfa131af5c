"""Tools that show long material page by page: the reports on tasks, and the list of changed files."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from orchestrator.agent.tools.base import CommandText, Tool, ToolArguments, ToolResult
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import ToolRefused
from prompts import fence_text


class ReadReportsArguments(ToolArguments):
    """Arguments of `read_reports`."""

    task: CommandText = Field(
        ROOT_TASK, description="A task or a slice by its id; a slice gives all tasks below it as well."
    )
    page: int = Field(1, ge=1, description="The page, from 1.")


def build_read_reports_tool(reports: Mapping[str, str], page_chars: int) -> Tool[ReadReportsArguments]:
    """Return the tool that shows what became of tasks, whole; `reports` are texts by the ids of their tasks."""

    async def read_reports(arguments: ReadReportsArguments) -> ToolResult:
        wanted = arguments.task.strip().rstrip("/*")
        found = list(reports.values())
        if wanted not in ("", ROOT_TASK):
            found = [text for name, text in reports.items() if name == wanted or name.startswith(f"{wanted}/")]
        if not found:
            suggestions = add_lead(": ", suggest_names(wanted, reports))
            raise ToolRefused(f"there is no task {wanted!r}{suggestions or '; root gives the reports on all tasks'}")
        return ToolResult(_show_page("reports", _split_pages(found, page_chars, "\n\n"), arguments.page))

    description = "Read the whole reports on a task, or on all tasks of a slice: what was asked for, claims, verdicts."
    return Tool("read_reports", description, ReadReportsArguments, read_reports)


class ReadChangesArguments(ToolArguments):
    """Arguments of `read_changes`."""

    path: CommandText = Field("", description="Part of a path; without it all changed files are listed.")
    page: int = Field(1, ge=1, description="The page, from 1.")


def build_read_changes_tool(lines: Sequence[str], page_chars: int) -> Tool[ReadChangesArguments]:
    """Return the tool that lists changed files; `lines` are git's summary of them."""

    async def read_changes(arguments: ReadChangesArguments) -> ToolResult:
        found = [line for line in lines if arguments.path.strip("*") in line]
        if not found:
            raise ToolRefused(f"no changed file has {arguments.path!r} in its path")
        return ToolResult(_show_page("changes", _split_pages(found, page_chars, "\n"), arguments.page))

    description = "List the files that changed and by how many lines, page by page."
    return Tool("read_changes", description, ReadChangesArguments, read_changes)


def _split_pages(texts: Iterable[str], page_chars: int, separator: str) -> Sequence[str]:
    """Return texts as pages of at most `page_chars` characters; a text that is longer than a page is divided."""
    pages: list[str] = []
    for text in texts:
        for start in range(0, len(text), page_chars):
            piece = text[start : start + page_chars]
            if start == 0 and pages and len(pages[-1]) + len(separator) + len(piece) <= page_chars:
                pages[-1] += separator + piece
            else:
                pages.append(piece)
    return pages


def _show_page(label: str, pages: Sequence[str], number: int) -> str:
    """Return a page as data: where it was divided, the marks within it can be cut off."""
    if number > len(pages):
        raise ToolRefused(f"there is no page {number}: the last one is {len(pages)}")
    return f"page {number} of {len(pages)}\n{fence_text(label, pages[number - 1])}"
