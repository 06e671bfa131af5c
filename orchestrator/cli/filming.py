"""`orchestrate watch --replay --film`: a run's recording as a picture that moves."""

import os
from pathlib import Path

from orchestrator.cli.doors import real_doors
from orchestrator.cli.reading import state_of
from orchestrator.cli.writing import write_out
from orchestrator.journal.runs import RunDirectory

_SIZE = (110, 30)
_LONG_S = 15.0
"""How long a film is where nobody says how fast the recording is played."""


def into_film(directory: RunDirectory, file: Path, speed: float | None) -> None:
    """Play a run's recording unseen, and write what would be seen.

    Args:
        directory: the run.
        file: for the SVG.
        speed: how many of its seconds pass in one; such that the film takes a quarter of a minute if not given.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    os.environ.pop("NO_COLOR", None)
    from orchestrator.tui.feed import Feed, Recording
    from orchestrator.tui.film import Filmed, film
    from orchestrator.tui.look import Look

    with state_of(directory) as state:
        begun, last = state.run.started_at, state.last_at or state.run.started_at
    length_s = max((last - begun).total_seconds(), 1.0)
    look = Look(is_read_only=True, has_animations=False)
    app = Filmed(
        Feed(directory, replay=Recording(speed or max(round(length_s / _LONG_S, 1), 0.1))),
        real_doors(directory, ()),
        look,
    )
    app.run(headless=True, size=_SIZE)
    if app.crashed is not None:
        raise app.crashed
    write_out(file, film(app.frames, *_SIZE))
