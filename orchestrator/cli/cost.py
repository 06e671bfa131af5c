"""`orchestrate cost`."""

from pathlib import Path

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import opened, state_of
from orchestrator.report.cost import RefusedPlans, cost_of
from orchestrator.report.cost_view import cost_lines, cost_object


@click.command("cost")
@click.argument("run", required=False)
@in_repository
@as_json
def command(run: str | None, repo: Path, state: str, as_json: bool) -> None:
    """Show what RUN cost (the latest run if not named): by task, role, model and attempt, and what was wasted.

    What nobody knows the price of is shown as unknown.

    \b
    orchestrate cost
    orchestrate cost 7f3a --json
    """
    directory = state_directory(repo, state).find(run)
    with state_of(directory) as found:
        refused = RefusedPlans()
        with opened(directory) as store:
            refused.watch(store.of_kinds(RefusedPlans.KINDS))
        cost = cost_of(found, refused)
        if as_json:
            print_object(cost_object(found, cost))
        else:
            print_lines(cost_lines(found, cost))
