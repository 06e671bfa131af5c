"""Write Markdown of words from elsewhere: they mention nobody, close nothing, and end neither a cell nor a table."""

from collections.abc import Iterable, Sequence

from orchestrator.domain.text.listing import limit_lines
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line

_ROWS = 20
_CELL_CHARS = 300


class Markdown(str):
    """Words that are Markdown already, so that a cell or a template writes them as they are."""

    def __html__(self) -> str:
        return self


def escape_markdown(text: object, limit: int = _CELL_CHARS) -> Markdown:
    """Return words in one line, for a table's cell or outside of one."""
    return Markdown(sanitize_markdown(to_one_line(str(text), limit).replace("\\", "\\\\").replace("|", "\\|")))


def render_code(text: object) -> Markdown:
    """Return words in one line as code, for a table's cell or outside of one."""
    return Markdown(format_code_span(to_one_line(str(text), _CELL_CHARS)).replace("|", "\\|"))


def _render_cell(cell: object) -> Markdown:
    return cell if isinstance(cell, Markdown) else escape_markdown(cell)


def render_markdown_table(
    title: str, heads: Sequence[str], rows: Iterable[Iterable[object]], limit: int | None = _ROWS
) -> str:
    """Return a section with a table of at most `limit` rows, or of all; empty without rows.

    Cells that are no `Markdown` are escaped.
    """
    lines = [f"| {' | '.join(map(_render_cell, row))} |" for row in rows]
    if not lines:
        return ""
    shown = limit_lines(lines, limit or len(lines), "\nand {count} more")
    return "\n".join((f"### {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *shown))


def render_markdown_list(title: str, entries: Sequence[str], limit: int | None = None) -> str:
    """Return a section with a list of at most `limit` entries; empty without any. They are Markdown already."""
    if not entries:
        return ""
    lines = [f"- {entry}" for entry in entries]
    return "\n".join((f"### {title}", "", *limit_lines(lines, limit or len(lines), "- and {count} more")))


def join_sections(*sections: str) -> str:
    """Return a document of the sections that are not empty."""
    return "\n\n".join(filter(None, sections)) + "\n"
