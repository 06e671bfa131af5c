"""Show the runs of all repositories on a screen of their own, and open them from there."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.dashboard.screen import (
    build_settings,
    is_drawn_in_ascii,
    is_for_browser,
    read_tui_settings,
    show_dashboard,
)
from orchestrator.cli.run_lookup import format_location_options, list_state_directories
from orchestrator.journal.locations.run_directory import RunDirectory

if TYPE_CHECKING:
    from orchestrator.cli.dashboard.watch import WatchArguments
    from orchestrator.report.runs.model import RunEntry


def show_run_list(state: str, given: "WatchArguments") -> int:
    """Show the list until somebody leaves it; whoever leaves a run comes back to it. Returns the exit code.

    Raises:
        UsageProblem: `[tui]` is wrong.
    """
    from orchestrator.discovery.all_runs import RunListReader

    reader, tui = RunListReader(partial(list_state_directories, state)), read_tui_settings(os.environ)
    first, total = reader.read_first_entries(shutil.get_terminal_size().lines)
    with _paint_first_rows([] if is_drawn_in_ascii(tui, given) else first, total):
        from orchestrator.tui.run_list import RunList  # it loads Textual, which takes as long as all the rest
    settings = build_settings(tui, given, os.environ)
    cursor = None
    while True:
        listed = RunList(reader.read_entries, settings, cursor, first, total)
        opened = listed.run(mouse=tui.mouse and not given["no_mouse"])
        if opened is None:
            return listed.return_code or 0
        first, total = list(listed.entries), len(listed.entries)
        cursor, directory = opened.place, RunDirectory(Path(opened.place))
        if opened.summary is None:
            continue
        where = format_location_options(Path(opened.summary.repository), str(directory.path.parents[2]))
        show_dashboard(directory, shlex.split(where), given, f"orchestrate watch {directory.run}{where}")


@contextmanager
def _paint_first_rows(first: Sequence["RunEntry"], total: int) -> Iterator[None]:
    """Show the first runs while the block loads what will draw the list; take them away again if that fails."""
    if not first or is_for_browser(os.environ):
        yield
        return
    from orchestrator.tui.first_frame import paint_first_frame, remove_first_frame

    width, height = shutil.get_terminal_size()
    paint_first_frame(sys.stderr, first, total, (width, height))
    with ExitStack() as failing:
        failing.callback(remove_first_frame, sys.stderr)
        yield
        failing.pop_all()
