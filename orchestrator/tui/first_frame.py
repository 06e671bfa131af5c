"""The first frame of the list of all runs, which is painted before the library that draws the list is loaded.

It says what the list will say at the same places, without colours. It takes no keys, so it names none; those that are
typed meanwhile wait in the terminal.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO
from unicodedata import combining, east_asian_width

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.runs.model import RunEntry
from orchestrator.tui.rows.run_columns import RUN_COLUMNS, build_run_row, format_runs_title
from orchestrator.tui.widgets.table_rows import ColumnExtent, lay_out_columns

_MARGIN = 2
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[H"
_LEAVE = "\x1b[?1049l\x1b[?25h"


def paint_first_frame(stream: TextIO, entries: Sequence[RunEntry], total: int, size: tuple[int, int]) -> None:
    """Show the first runs on the terminal's second screen, `size` being its columns and lines."""
    lines = render_first_frame(entries, total, size)
    stream.write(_ENTER + "\r\n".join(lines))
    stream.flush()


def remove_first_frame(stream: TextIO) -> None:
    """Go back to the terminal's first screen, where the list cannot be shown after all."""
    stream.write(_LEAVE)
    stream.flush()


def render_first_frame(entries: Sequence[RunEntry], total: int, size: tuple[int, int]) -> list[str]:
    """Return the lines of the frame: a title, the names of the columns, as many runs as there is room for."""
    width, height = size
    title, most = format_runs_title(total, None), max(height - 3, 0)
    extents = lay_out_columns(RUN_COLUMNS, width - (total > most), _MARGIN)  # the last cells are for the scroll bar
    names = {column.key: column.title for column in RUN_COLUMNS}
    lines = [cut_to_cells(title, width), _fill_line(names, extents)]
    for entry in entries[:most]:
        row = build_run_row(entry, is_ascii=False)
        lines.append(_fill_line({key: str(cell) for key, cell in row.cells.items()}, extents))
    return lines


def _fill_line(cells: dict[str, str], extents: Sequence[ColumnExtent]) -> str:
    line = ""
    for place in extents:
        line += " " * (place.x - count_cells(line))
        line += cut_to_cells(to_one_line(cells[place.column.key]), place.width)
    return line.rstrip()


def cut_to_cells(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most so many cells, with an ellipsis where anything is missing."""
    if count_cells(text) <= width:
        return text
    shown = "".join(_iterate_fitting(text, width - 1))
    return shown + " " * (width - 1 - count_cells(shown)) + "…" * (width > 0)


def _iterate_fitting(text: str, width: int) -> Iterator[str]:
    for letter in text:
        width -= count_cells(letter)
        if width < 0:
            return
        yield letter


def count_cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum((east_asian_width(letter) in "WF") + (not combining(letter)) for letter in text)
