"""The columns of the burndown's tables, and how their rows are told in cells."""

from orchestrator.report.migration.burndown_model import NO_GROUP
from orchestrator.report.rows.file_rows import FileRow
from orchestrator.tui.rows.burndown_rows import GroupRow, SignatureRow
from orchestrator.tui.views.cells import format_nonzero, render_bar, render_failures
from orchestrator.tui.widgets.styled_text import Cell, LeftTruncatedText, Span
from orchestrator.tui.widgets.table import Column, Row

SIGNATURE_COLUMNS = (
    Column("files", "COUNT", 5, to_the_right=True),
    Column("left", "LEFT", 6, priority=1, to_the_right=True),
    Column("signature", "FAILED OF", 30, grows=True),
    Column("steps", "STEP", 12, priority=2),
    Column("examples", "FILES", 24, priority=3),
)
GROUP_COLUMNS = (
    Column("name", "NAME", 18),
    Column("files", "FILES", 5, priority=3, to_the_right=True),
    Column("bar", "DONE", 14),
    Column("left", "LEFT", 6, priority=1, to_the_right=True),
    Column("failed", "FAILED", 6, priority=2, to_the_right=True),
    Column("prs", "PRS", 3, priority=6, to_the_right=True),
    Column("seconds", "S/FILE", 6, priority=5, to_the_right=True),
    Column("cost", "COST", 8, priority=4, to_the_right=True),
    Column("reason", "TOP REASON", 16, priority=7, grows=True),
)
FILE_COLUMNS = (
    Column("state", "STATE", 7),
    Column("path", "FILE", 20),
    Column("left", "LEFT", 5, priority=1, to_the_right=True),
    Column("step", "STEP", 12, priority=3),
    Column("tries", "TRY", 3, priority=5, to_the_right=True),
    Column("cost", "COST", 7, priority=4, to_the_right=True),
    Column("reason", "WHY", 10, priority=2, grows=True),
)
_BAR_CELLS = 6


def build_signature_row(row: SignatureRow, is_ascii: bool) -> Row:
    """Return the row of files that failed alike."""
    cells: dict[str, Cell] = {
        "files": str(row.files),
        "left": format_number(row.left),
        "signature": row.signature,
        "steps": (", ".join(row.steps), "dim"),
        "examples": (", ".join(row.examples), "dim"),
    }
    return Row(row.signature, cells)


def build_group_row(row: GroupRow, is_ascii: bool) -> Row:
    """Return the row of a group."""
    cells: dict[str, Cell] = {
        "name": row.name,
        "files": str(row.files),
        "bar": _render_share(row.done, row.files, is_ascii),
        "left": format_number(row.left),
        "failed": render_failures(row.failed),
        "prs": format_nonzero(row.prs),
        "seconds": NO_GROUP if row.seconds is None else f"{row.seconds:.1f}",
        "cost": row.price,
        "reason": (row.reason, "dim"),
    }
    return Row(row.name, cells)


def build_file_row(row: FileRow, is_ascii: bool) -> Row:
    """Return the row of a file."""
    why = ""
    if row.status.value != row.activity.value:
        why = row.status.value
    if row.reason:
        why = f"{why}: {row.reason}"
    for flag in row.flags:
        why += f" [{flag}]"
    cells: dict[str, Cell] = {
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "path": LeftTruncatedText(row.path),
        "left": format_number(row.left),
        "step": (row.step, "dim"),
        "tries": str(row.attempt) if row.attempt > 1 else "",
        "cost": row.price,
        "reason": why,
    }
    return Row(row.path, cells)


def _render_share(done: int, total: int, is_ascii: bool) -> list[Span]:
    share = f"{done / total:4.0%}" if total else "   -"
    return render_bar(f"{share}  ", done, total, _BAR_CELLS, is_ascii=is_ascii)


def format_number(value: float) -> str:
    """Return `12`, `1.5`, `1,204`."""
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}"
