"""`orchestrate migrate resume`: as `orchestrate resume`, also by another recipe."""

from functools import partial
from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator.cli.control.delivery import deliver_command, find_commanded_run
from orchestrator.cli.flags import build_rerun_options
from orchestrator.cli.options import FILE, VerbArguments, json_option, repository_options, resume_options
from orchestrator.cli.output import print_message
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.domain.commands.definitions import Publish
from orchestrator.migrate.recipe import load_recipe, locate_problems
from orchestrator.run_control.location import prepare_resume
from orchestrator.run_control.migration_commands import build_revise_command, list_due_groups
from orchestrator.run_control.send_command import send_command


@click.command("resume")
@click.argument("run", required=False)
@repository_options
@resume_options
@click.option(
    "--recipe", type=FILE, help="Go on by this edited recipe; only files that it makes a difference to are done again."
)
@json_option
def resume_command(run: str | None, recipe: Path | None, **given: Unpack[VerbArguments]) -> None:
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9, or by an edited recipe.

    Of a run that has ended, pull requests are opened that had to wait for others to be merged.

    \b
    orchestrate migrate resume
    orchestrate migrate resume latest --recipe unittest-to-pytest.toml
    """
    location, state = find_commanded_run(run, given["repo"], given["state"])
    if recipe is not None and state.run.mode == "migration":
        with locate_problems(recipe):
            revise, difference = build_revise_command(location, state, load_recipe(recipe))
        print_message(difference)
        if has_live_engine(location.directory):
            deliver_command(location, state, revise, wake=False, as_json=given["as_json"])
            return
        send_command(location.directory, revise)
    elif state.run.mode == "migration" and (due := anyio.run(list_due_groups, location, state)):
        send_command(location.directory, Publish(groups=due))
    run_with_engine(partial(prepare_resume, build_rerun_options(given), location.directory.run), given)
