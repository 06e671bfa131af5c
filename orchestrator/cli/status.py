"""`orchestrate status`."""

from pathlib import Path

import click

from orchestrator.cli.finding import is_live, read_state, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_object
from orchestrator.report.status import status_object, status_text


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
    directory = state_directory(repo, state).find(run)
    found = read_state(directory)
    if as_json:
        print_object(status_object(found, directory.journal, is_live(directory)))
    else:
        click.echo("\n".join(status_text(found, directory.journal, is_live(directory))))
