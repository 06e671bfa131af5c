"""Render the report of a migration as CSV: the series, and the files. No cell of it is a formula to a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.migration.full_report import MigrationReport

_FORMULA_SIGNS = ("=", "+", "-", "@")
_SERIES_COLUMNS = ("at", "worked", "sites", "spent_usd", *map(str, FileStatus), "mark")
_FILE_COLUMNS = (
    *("path", "status", "owner", "shard", "step", "attempt", "sites", "sites_left", "seconds"),
    *("reason", "signature", "flags", "commit"),
)


def render_series_csv(report: MigrationReport) -> str:
    """Return a line for each point of the curve; seconds since the inventory, and seconds of work."""
    rows = []
    for point in report.series:
        files = [point.files.get(status, 0) for status in FileStatus]
        rows.append((point.at, point.worked, point.sites, point.spent_usd, *files, point.mark))
    return _render_csv(_SERIES_COLUMNS, rows)


def render_files_csv(report: MigrationReport) -> str:
    """Return a line for each file."""
    rows = []
    for file in report.files:
        place = (file.path, file.status, file.owner, file.shard, file.step, file.attempt)
        numbers = (file.sites, file.sites_left, file.seconds)
        rows.append((*place, *numbers, file.reason, file.signature, "; ".join(file.flags), file.commit))
    return _render_csv(_FILE_COLUMNS, rows)


def _render_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(map(_build_cell, row))
    return text.getvalue()


def _build_cell(value: object) -> object:
    """Return a number as it is; a text without controls, and with a quote before what a spreadsheet would calculate."""
    if not isinstance(value, str):
        return value
    text = strip_controls(value).replace("\n", " ").replace("\t", " ")
    if text.lstrip().startswith(_FORMULA_SIGNS):
        return f"'{text}"
    return text
