"""`orchestrate migrate publish`."""

from typing import Any

import click

from orchestrator.cli.control.commands import deliver_command, find_commanded_run
from orchestrator.cli.options import json_option, repository_options
from orchestrator.run_control.migration_commands import build_publish_command


@click.command("publish")
@click.argument("run")
@click.argument("groups", nargs=-1, metavar="[GROUP…]")
@click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")
@repository_options
@json_option
def publish_command(run: str, groups: tuple[str, ...], no_wake: bool, **given: Any) -> None:  # noqa: ANN401
    """Open the pull requests of these groups of RUN (of all, if none is named) now, however many are open.

    Groups are what `group_pr` under [merge] of the recipe makes of the landed shards: their names, owners or
    directories.

    \b
    orchestrate migrate publish latest @core
    """
    place, state = find_commanded_run(run, given)
    deliver_command(place, state, build_publish_command(state, groups), wake=not no_wake, as_json=given["as_json"])
