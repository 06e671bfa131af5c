"""`orchestrate migrate publish`."""

from typing import Any

import click

from orchestrator.app.migrations import publishing
from orchestrator.cli.commands import find, send
from orchestrator.cli.options import as_json, in_repository


@click.command("publish")
@click.argument("run")
@click.argument("groups", nargs=-1, metavar="[GROUP…]")
@click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")
@in_repository
@as_json
def command(run: str, groups: tuple[str, ...], no_wake: bool, **given: Any) -> None:  # noqa: ANN401
    """Open the pull requests of these groups of RUN (of all, if none is named) now, however many are open.

    Groups are what `group_pr` under [merge] of the recipe makes of the landed shards: their names, owners or
    directories.

    \b
    orchestrate migrate publish latest @core
    """
    place, state = find(run, given)
    send(place, state, publishing(state, groups), wake=not no_wake, as_json=given["as_json"])
