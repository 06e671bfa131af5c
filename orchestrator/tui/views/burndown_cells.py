"""The lines above the burndown's tables, the columns of the tables, and how their rows are told in cells."""

from collections.abc import Iterator

from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration import burndown_text
from orchestrator.report.migration.burndown import BurndownBounds, build_burndown
from orchestrator.report.migration.burndown_text import format_seconds
from orchestrator.report.migration.file_groups import FileGroup
from orchestrator.report.rows.file_rows import FileRow
from orchestrator.tui.views.cells import STATE_COLUMN, format_nonzero, render_bar, render_failures
from orchestrator.tui.widgets.styled_text import Cell, LeftTruncatedText
from orchestrator.tui.widgets.table_rows import CellContext, Column

_BAR_CELLS = 6


def _render_share(row: FileGroup, context: CellContext) -> Cell:
    share = f"{row.done / row.files:4.0%}" if row.files else "   -"
    return render_bar(f"{share}  ", row.done, row.files, _BAR_CELLS, is_ascii=context.is_ascii)


def _render_reason(row: FileRow, _context: CellContext) -> Cell:
    why = row.status.value * (row.status.value != row.activity.value)
    if row.reason:
        why = f"{why}: {row.reason}"
    for flag in row.flags:
        why += f" [{flag}]"
    return why


SIGNATURE_COLUMNS = (
    Column("files", "COUNT", 5, to_the_right=True, cell=lambda row, _: str(row.files)),
    Column("left", "LEFT", 6, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.sites)),
    Column("signature", "FAILED OF", 30, grows=True, cell=lambda row, _: row.signature),
    Column("steps", "STEP", 12, priority=2, cell=lambda row, _: (", ".join(row.steps), "dim")),
    Column("examples", "FILES", 24, priority=3, cell=lambda row, _: (", ".join(row.examples), "dim")),
)
GROUP_COLUMNS = (
    Column("name", "NAME", 18, cell=lambda row, _: row.name),
    Column("files", "FILES", 5, priority=3, to_the_right=True, cell=lambda row, _: str(row.files)),
    Column("bar", "DONE", 14, cell=_render_share),
    Column("left", "LEFT", 6, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.left)),
    Column("failed", "FAILED", 6, priority=2, to_the_right=True, cell=lambda row, _: render_failures(row.rejected)),
    Column("prs", "PRS", 3, priority=6, to_the_right=True, cell=lambda row, _: format_nonzero(row.prs)),
    Column("seconds", "S/FILE", 6, 5, to_the_right=True, cell=lambda row, _: format_seconds(row.median_seconds)),
    Column("cost", "COST", 8, priority=4, to_the_right=True, cell=lambda row, _: row.price),
    Column("reason", "TOP REASON", 16, 7, grows=True, cell=lambda row, _: (to_one_line(row.top_reason, 300), "dim")),
)
FILE_COLUMNS = (
    STATE_COLUMN,
    Column("path", "FILE", 20, cell=lambda row, _: LeftTruncatedText(row.path)),
    Column("left", "LEFT", 5, 1, to_the_right=True, cell=lambda row, _: burndown_text.format_weight(row.left)),
    Column("step", "STEP", 12, priority=3, cell=lambda row, _: (row.step, "dim")),
    Column("tries", "TRY", 3, 5, to_the_right=True, cell=lambda row, _: str(row.attempt) * (row.attempt > 1)),
    Column("cost", "COST", 7, priority=4, to_the_right=True, cell=lambda row, _: row.price),
    Column("reason", "WHY", 10, priority=2, grows=True, cell=_render_reason),
)
_HEAD = BurndownBounds(points=48, groups=0, signatures=0)


def render_burndown_head(state: RunState, *, is_ascii: bool = False) -> Iterator[str]:
    """Yield progress, forecast and cost, and what waits for a person."""
    burndown = build_burndown(state, _HEAD)
    glyphs = burndown_text.ASCII_GLYPHS if is_ascii else burndown_text.UNICODE_GLYPHS
    yield burndown_text.render_burndown_headline(burndown, glyphs)
    yield burndown_text.render_files_line(burndown).strip()
    yield from map(str.strip, burndown_text.render_waiting_lines(burndown))
