"""`orchestrate status`."""

import json
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.finding import is_live, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.journal.disk import disk_use
from orchestrator.journal.projection import read_projection
from orchestrator.journal.runs import RunDirectory

_FRESH_S = 2.0


@click.command("status")
@click.argument("run", required=False)
@in_repository
@as_json
def command(run: str | None, repo: Path, state: str, as_json: bool) -> None:
    """Show where RUN stands (the latest run if not named; part of an id is enough).

    \b
    orchestrate status
    orchestrate status 7f3a --json
    """
    status = _status(state_directory(repo, state).find(run))
    if as_json:
        print_object(status)
        return
    from orchestrator.report.status_text import status_text

    print_lines(status_text(status))


def _status(directory: RunDirectory) -> dict[str, Any]:
    """The engine's own projection if it is current, or fresh enough while it works; else derived from the events."""
    live = is_live(directory)
    kept = read_projection(directory.journal, "status")
    if kept and (kept.is_current or (live and kept.age_s < _FRESH_S)):
        status: dict[str, Any] = json.loads(kept.body)
    else:
        from orchestrator.cli.reading import read_state
        from orchestrator.report.status import status_object

        status = status_object(read_state(directory), directory.journal)
    return status | {"is_live": live, "disk": disk_use(directory.path.parent.parent).as_object()}
