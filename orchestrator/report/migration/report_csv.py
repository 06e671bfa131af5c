"""Render the report of a migration as CSV: the series, and the files. No cell of it is a formula to a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.migration.full_report_model import MigrationReport

_FORMULA_SIGNS = ("=", "+", "-", "@")
_SERIES_COLUMNS = ("at", "worked", "sites", "spent_usd", *map(str, FileStatus), "mark")
_FILE_COLUMNS = (
    *("path", "status", "owner", "shard", "step", "attempt", "sites", "sites_left", "seconds"),
    *("reason", "signature", "flags", "commit"),
)


def render_series_csv(report: MigrationReport) -> str:
    """Return a line for each point of the curve; seconds since the inventory, and seconds of work."""
    return _render_csv(_SERIES_COLUMNS, _iterate_points(report))


def _iterate_points(report: MigrationReport) -> Iterator[Mapping[str, Any]]:
    for point in report.series:
        yield {**dict.fromkeys(_SERIES_COLUMNS, 0), **vars(point), **point.files}


def render_files_csv(report: MigrationReport) -> str:
    """Return a line for each file."""
    return _render_csv(_FILE_COLUMNS, _iterate_files(report))


def _iterate_files(report: MigrationReport) -> Iterator[Mapping[str, Any]]:
    for file in report.files:
        yield {**vars(file), "flags": "; ".join(file.flags)}


def _render_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_build_cell(row[column]) for column in columns])
    return text.getvalue()


def _build_cell(value: object) -> object:
    """Return a number as it is; a text without controls, and with a quote before what a spreadsheet would calculate."""
    if not isinstance(value, str):
        return value
    text = strip_controls(value).replace("\n", " ").replace("\t", " ")
    if text.lstrip().startswith(_FORMULA_SIGNS):
        return f"'{text}"
    return text
