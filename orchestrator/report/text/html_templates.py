"""Make HTML and Markdown from the templates in `orchestrator/report/templates`.

Autoescape is always on. Every value that a page prints loses its control characters, and a long one its end, before it
is escaped; one that Markdown prints means nothing there. jinja2 is loaded when the first page is made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.text.durations import format_seconds, format_short_duration
from orchestrator.domain.text.money import format_dollars
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, strip_controls, to_one_line
from orchestrator.report.text.markdown import Markdown, escape_markdown, render_code, render_markdown_table

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent.parent / "templates"
_VALUE_CHARS = 20_000
_LONG_TEXT_CHARS = 2_000
_MEDIUM_CHARS, _LONG_CHARS = 12, 40


def render_template(name: str, **values: object) -> str:
    """Return the page or part of one that the template `name` makes of `values`."""
    return load_environment().get_template(name).render(values)


def render_markdown_template(name: str, **values: object) -> str:
    """Return the Markdown that the template `name` makes of `values`, with one blank line between its sections."""
    text = load_environment(prepare_markdown).get_template(name).render(values)
    return "\n\n".join(filter(None, map(_strip_lines, text.split("\n\n")))) + "\n"


def _strip_lines(section: str) -> str:
    return section.strip("\n")


def prepare_markdown(value: object) -> str:
    """Return a value in one line that means nothing in Markdown; what is Markdown already stays."""
    return value if isinstance(value, Markdown) else escape_markdown(value)


@cache
def load_environment(prepare: Callable[[object], object] | None = None) -> "Environment":
    """Return the environment of templates: values are escaped after `prepare`, and an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=prepare or prepare_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    environment.globals["build_table"] = build_table
    environment.globals["enumerate"] = enumerate
    environment.globals["render_table"] = render_table
    return environment


def prepare_value(value: object) -> object:
    """Return a value as text without control characters, cut after 20,000; markup that a template made stays."""
    if hasattr(value, "__html__"):
        return value
    text = str(value)
    shown = strip_controls(text[:_VALUE_CHARS])
    if len(text) <= _VALUE_CHARS:
        return shown
    return f"{shown}… and {len(text) - _VALUE_CHARS:,} characters more"


def format_minute(moment: str) -> str:
    """Return a moment of ISO 8601 to the minute: `2026-01-01 12:30 UTC`."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


_FILTERS: Mapping[str, Callable[..., object]] = {
    "code": render_code,
    "codes": lambda texts: Markdown(", ".join(map(render_code, texts))),
    "commas": ", ".join,
    "dash": lambda text: text or "-",
    "dollars": format_dollars,
    "duration": format_short_duration,
    "inert": lambda text, limit=2_000: Markdown(sanitize_markdown(text, limit)),
    "kept": Markdown,
    "long": lambda text: escape_markdown(text, _LONG_TEXT_CHARS),
    "minute": format_minute,
    "number": "{:,g}".format,
    "percent": "{:.1%}".format,
    "length": len,
    "seconds": format_seconds,
    "short": itemgetter(slice(12)),
    "thousands": "{:,}".format,
    "unfenced": lambda line: Markdown(to_one_line(line).replace("```", "'''")),
    "whole_code": lambda text: Markdown(format_code_span(to_one_line(text))),
    "whole_percent": lambda share: f"{share * 100:.0f}",
}
"""What templates and their tables write values with."""


@dataclass(frozen=True)
class HtmlColumn:
    """The head of a column, and the class of its cells: `n` for numbers, `m` or `l` for long words, or none."""

    head: str
    css_class: str


@dataclass(frozen=True)
class HtmlTable:
    """A table for the macro `table`; one without rows is not shown."""

    title: str
    columns: tuple[HtmlColumn, ...]
    rows: tuple[tuple[str, ...], ...]


def build_table(title: str, entries: Iterable[object], columns: Mapping[str, str]) -> HtmlTable:
    """Return a table with a row for each entry.

    `columns` are heads with the attribute that they show, and perhaps a filter: `{"#left": "sites_left|number"}`.
    """
    return build_html_table(title, tuple(columns), _iterate_rows(entries, columns))


def render_table(title: str, entries: Iterable[object], columns: Mapping[str, str], limit: int | None = 20) -> Markdown:
    """Return the same in Markdown, of at most `limit` rows."""
    return Markdown(render_markdown_table(title, tuple(columns), _iterate_rows(entries, columns), limit))


def _iterate_rows(entries: Iterable[object], columns: Mapping[str, str]) -> Iterable[tuple[object, ...]]:
    shown = tuple(entries)
    cells = [map(_build_getter(source), shown) for source in columns.values()]
    return zip(*cells, strict=True)


def _build_getter(source: str) -> Callable[[object], object]:
    """Return a function that gives the cell of an entry; without a filter an unknown value is an empty cell."""
    from jinja2.filters import make_attrgetter

    name, _, filter_name = source.partition("|")
    show = _FILTERS.get(filter_name, _blank_unknown)
    return make_attrgetter(load_environment(), name, show)


def _blank_unknown(value: object) -> object:
    return "" if value is None else value


def build_html_table(title: str, heads: Sequence[str], rows: Iterable[Iterable[object]]) -> HtmlTable:
    """Return a table without the columns that have no word in them. A head that begins with `#` is one of numbers."""
    columns, cells_by_column = [], []
    for head, cells in zip(heads, _transpose_rows(rows, len(heads)), strict=True):
        if any(cells):
            columns.append(HtmlColumn(head.lstrip("#"), _choose_class(head, cells)))
            cells_by_column.append(cells)
    return HtmlTable(title, tuple(columns), tuple(zip(*cells_by_column, strict=True)))


def _transpose_rows(rows: Iterable[Iterable[object]], width: int) -> list[list[str]]:
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            column.append(str(cell))
    return columns


def _choose_class(head: str, cells: Sequence[str]) -> str:
    if head.startswith("#"):
        return "n"
    longest = max(map(len, cells))
    if longest > _LONG_CHARS:
        return "l"
    if longest > _MEDIUM_CHARS:
        return "m"
    return ""
