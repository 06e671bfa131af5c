"""`orchestrate status`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.finding import is_live, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import alarm, print_lines, print_object
from orchestrator.domain.unsafe import UNSAFE
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
    with status_of(state_directory(repo, state).find(run)) as status:
        if as_json:
            print_object(status)
            return
        from orchestrator.report.status_text import status_text

        if status.get("unsafe"):
            alarm(UNSAFE, err=False)
        print_lines(status_text(status))


@contextmanager
def status_of(directory: RunDirectory) -> Iterator[dict[str, Any]]:
    """The engine's own projection if it is current, or fresh enough while it works; else derived from the events."""
    found = {"is_live": is_live(directory), "disk": disk_use(directory.path.parent.parent).as_object()}
    kept = read_projection(directory.journal, "status")
    if kept and (kept.is_current or (found["is_live"] and kept.age_s < _FRESH_S)):
        known = json.loads(kept.body)
        if known["mode"] != "migration" or "burndown" in known:  # an older program knew no burndown
            yield known | found
            return
    from orchestrator.cli.reading import state_of
    from orchestrator.report.status import status_object

    with state_of(directory) as state:
        yield status_object(state, directory.journal) | found
