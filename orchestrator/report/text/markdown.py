"""Markdown of words from elsewhere: they mention nobody, close nothing, and end neither a cell nor a table."""

from collections.abc import Iterable, Sequence

from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line

_ROWS = 20
_CHARS = 300


def escape_markdown(text: object, limit: int = _CHARS) -> str:
    """Words in one line, in a table's cell or outside of one."""
    return sanitize_markdown(to_one_line(str(text), limit).replace("\\", "\\\\").replace("|", "\\|"))


def render_code(text: object) -> str:
    """The same as code."""
    return format_code_span(to_one_line(str(text), _CHARS)).replace("|", "\\|")


def render_markdown_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], most: int = _ROWS) -> str:
    """A section with a table of at most so many rows; empty without rows. The cells are Markdown already."""
    made = list(rows)
    if not made:
        return ""
    lines = (f"| {' | '.join(row)} |" for row in made[:most])
    more = (f"\nand {len(made) - most} more",) if len(made) > most else ()
    return "\n".join((f"### {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines, *more))
