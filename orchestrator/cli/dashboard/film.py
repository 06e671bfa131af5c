"""`orchestrate watch --replay --film`: render a run's recording as an animated picture."""

import os
from pathlib import Path

from orchestrator.cli.dashboard.actions import build_dashboard_actions
from orchestrator.cli.journal_reader import read_state_tolerantly
from orchestrator.cli.output import write_report_file
from orchestrator.journal.locations.run_directory import RunDirectory

_SIZE = (110, 30)
_DEFAULT_LENGTH_S = 15.0
"""The length of a film where nobody says how fast the recording is played."""


def write_film(directory: RunDirectory, file: Path, speed: float | None) -> None:
    """Play a run's recording off screen, and write what would be seen to a file.

    Args:
        directory: the run.
        file: for the SVG.
        speed: how many of its seconds pass in one; such that the film takes a quarter of a minute if not given.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    os.environ.pop("NO_COLOR", None)
    from orchestrator.tui.run_feed.feed import PlaybackClock, RunFeed
    from orchestrator.tui.settings import DashboardSettings
    from orchestrator.tui.svg_film import FilmedDashboard, render_film_svg

    with read_state_tolerantly(directory) as state:
        begun, last = state.run.started_at, state.last_at or state.run.started_at
    length_s = max((last - begun).total_seconds(), 1.0)
    settings = DashboardSettings(is_read_only=True, has_animations=False)
    app = FilmedDashboard(
        RunFeed(directory, replay=PlaybackClock(speed or max(round(length_s / _DEFAULT_LENGTH_S, 1), 0.1))),
        build_dashboard_actions(directory, ()),
        settings,
    )
    app.run(headless=True, size=_SIZE)
    if app.crash_error is not None:
        raise app.crash_error
    write_report_file(file, render_film_svg(app.frames, *_SIZE))
