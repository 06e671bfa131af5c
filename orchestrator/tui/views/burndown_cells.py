"""The lines above the burndown's tables, the columns of the tables, and how their rows are told in cells."""

from collections.abc import Iterator

from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.durations import format_seconds
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration import burndown_text
from orchestrator.report.migration.burndown import BurndownBounds, build_burndown
from orchestrator.report.migration.burndown_model import SignatureSummary
from orchestrator.report.migration.file_groups import FileGroup
from orchestrator.report.rows.file_rows import FileRow
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
_REASON_CHARS = 300
_HEAD = BurndownBounds(points=48, groups=0, signatures=0)


def render_burndown_head(state: RunState, *, is_ascii: bool = False) -> Iterator[str]:
    """Yield progress, forecast and cost, and what waits for a person."""
    burndown = build_burndown(state, _HEAD)
    glyphs = burndown_text.ASCII_GLYPHS if is_ascii else burndown_text.UNICODE_GLYPHS
    yield burndown_text.render_burndown_headline(burndown, glyphs)
    yield burndown_text.render_files_line(burndown).strip()
    yield from map(str.strip, burndown_text.render_waiting_lines(burndown))


def build_signature_row(row: SignatureSummary, is_ascii: bool) -> Row:
    """Return the row of files that failed alike."""
    cells: dict[str, Cell] = {
        "files": str(row.files),
        "left": burndown_text.format_weight(row.sites),
        "signature": row.signature,
        "steps": (", ".join(row.steps), "dim"),
        "examples": (", ".join(row.examples), "dim"),
    }
    return Row(row.signature, cells)


def build_group_row(row: FileGroup, is_ascii: bool) -> Row:
    """Return the row of a group."""
    cells: dict[str, Cell] = {
        "name": row.name,
        "files": str(row.files),
        "bar": _render_share(row.done, row.files, is_ascii),
        "left": burndown_text.format_weight(row.left),
        "failed": render_failures(row.rejected),
        "prs": format_nonzero(row.prs),
        "seconds": format_seconds(row.median_seconds),
        "cost": row.price,
        "reason": (to_one_line(row.top_reason, _REASON_CHARS), "dim"),
    }
    return Row(row.name, cells)


def build_file_row(row: FileRow, is_ascii: bool) -> Row:
    """Return the row of a file."""
    why = row.status.value * (row.status.value != row.activity.value)
    if row.reason:
        why = f"{why}: {row.reason}"
    for flag in row.flags:
        why += f" [{flag}]"
    cells: dict[str, Cell] = {
        "state": (row.activity.render_label(is_ascii), row.activity.style),
        "path": LeftTruncatedText(row.path),
        "left": burndown_text.format_weight(row.left),
        "step": (row.step, "dim"),
        "tries": str(row.attempt) * (row.attempt > 1),
        "cost": row.price,
        "reason": why,
    }
    return Row(row.path, cells)


def _render_share(done: int, total: int, is_ascii: bool) -> list[Span]:
    share = f"{done / total:4.0%}" if total else "   -"
    return render_bar(f"{share}  ", done, total, _BAR_CELLS, is_ascii=is_ascii)
