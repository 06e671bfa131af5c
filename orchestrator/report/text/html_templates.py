"""Make HTML from the templates in `orchestrator/report/templates`.

Autoescape is always on. Every value that a template prints loses its control characters, and a long one its end,
before it is escaped. jinja2 is loaded when the first page is made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.text.durations import format_seconds, format_short_duration
from orchestrator.domain.text.money import format_dollars
from orchestrator.domain.text.sanitization import strip_controls

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent.parent / "templates"
_VALUE_CHARS = 20_000
_MEDIUM_CHARS, _LONG_CHARS = 12, 40


def render_template(name: str, **values: object) -> str:
    """Return the page or part of one that the template `name` makes of `values`."""
    return load_environment().get_template(name).render(values)


@cache
def load_environment() -> "Environment":
    """Return the environment of all templates: values are escaped, and an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=prepare_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    environment.globals["build_table"] = build_table
    environment.globals["enumerate"] = enumerate
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


_FILTERS: Mapping[str, Callable[..., object]] = {
    "commas": ", ".join,
    "dollars": format_dollars,
    "duration": format_short_duration,
    "number": "{:,g}".format,
    "percent": "{:.1%}".format,
    "length": len,
    "seconds": format_seconds,
    "short": itemgetter(slice(12)),
    "thousands": "{:,}".format,
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
    shown = tuple(entries)
    cells = [map(_build_getter(source), shown) for source in columns.values()]
    return build_html_table(title, tuple(columns), zip(*cells, strict=True))


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
