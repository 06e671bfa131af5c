"""Show the runs of all repositories on a screen of their own, and open them from there."""

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.dashboard.screen import build_settings, show_dashboard
from orchestrator.cli.run_lookup import format_location_options, list_state_directories
from orchestrator.journal.locations.run_directory import RunDirectory

if TYPE_CHECKING:
    from orchestrator.cli.dashboard.watch import WatchArguments


def show_run_list(state: str, given: "WatchArguments") -> int:
    """Show the list until somebody leaves it; whoever leaves a run comes back to it. Returns the exit code.

    Raises:
        UsageProblem: `[tui]` is wrong.
    """
    from orchestrator.config.layers import load_config
    from orchestrator.discovery.all_runs import RunListReader

    reader = RunListReader(partial(list_state_directories, state))
    reader.read_entries()  # what it remembers is shown with the first frame
    from orchestrator.tui.run_list import RunList

    tui = load_config(None).config.tui
    cursor = None
    while True:
        listed = RunList(reader.read_entries, build_settings(tui, given, os.environ), cursor)
        opened = listed.run(mouse=tui.mouse and not given["no_mouse"])
        if opened is None:
            return listed.return_code or 0
        cursor, directory = opened.place, RunDirectory(Path(opened.place))
        if opened.summary is None:
            continue
        where = format_location_options(Path(opened.summary.repository), str(directory.path.parents[2]))
        show_dashboard(directory, shlex.split(where), given, f"orchestrate watch {directory.run}{where}")
