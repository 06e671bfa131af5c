"""The report of a migration as CSV: the series, and the files. No cell of it is a formula to a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.text.sanitization import strip_controls

_FORMULA = ("=", "+", "-", "@")
_STATUSES = tuple(status.value for status in FileStatus)
_SERIES = ("at", "worked", "sites", "spent_usd", *_STATUSES, "mark")
_FILES = (
    *("path", "status", "owner", "shard", "step", "attempt", "sites", "sites_left", "seconds"),
    *("reason", "signature", "flags", "commit"),
)


def render_series_csv(report: Mapping[str, Any]) -> str:
    """A line for each point of the curve; seconds since the inventory, and seconds of work."""
    return _csv(_SERIES, ({**point, **point["files"]} for point in report["series"]), default=0)


def render_files_csv(report: Mapping[str, Any]) -> str:
    """A line for each file."""
    return _csv(_FILES, ({**file, "flags": "; ".join(file["flags"])} for file in report["files"]))


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], default: object = "") -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column, default)) for column in columns])
    return text.getvalue()


def _cell(value: object) -> object:
    """A number as it is; a text without controls, and with a quote before what a spreadsheet would calculate."""
    if not isinstance(value, str):
        return value
    text = strip_controls(value).replace("\n", " ").replace("\t", " ")
    if text.lstrip().startswith(_FORMULA):
        return f"'{text}"
    return text
