"""`orchestrate migrate resume`: as `orchestrate resume`, also by another recipe."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator.app.migrations import due_groups, revision
from orchestrator.app.options import Options
from orchestrator.app.place import Place, to_be_resumed
from orchestrator.app.telling import tell
from orchestrator.cli.commands import find, send
from orchestrator.cli.finding import is_live, whereabouts
from orchestrator.cli.options import as_json, detached, in_repository, running
from orchestrator.cli.output import say
from orchestrator.cli.resume import asked_for, options_of
from orchestrator.cli.running import carry_out, exit_with
from orchestrator.domain.command import Publish
from orchestrator.domain.state import RunState
from orchestrator.migrate.recipe import load_recipe, located


@click.command("resume")
@click.argument("run", required=False)
@in_repository
@detached
@running
@asked_for
@click.option(
    "--recipe",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Go on by this edited recipe; only files that it makes a difference to are done again.",
)
@as_json
def command(run: str | None, recipe: Path | None, **given: Any) -> None:  # noqa: ANN401
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9, or by an edited recipe.

    Of a run that has ended, pull requests are opened that had to wait for others to be merged.

    \b
    orchestrate migrate resume
    orchestrate migrate resume latest --recipe unittest-to-pytest.toml
    """
    place, state = find(run, given)
    if recipe is not None and state.run.mode == "migration":
        with located(recipe):
            revise, difference = revision(place, state, load_recipe(recipe))
        say(difference)
        if is_live(place.directory):
            send(place, state, revise, wake=False, as_json=given["as_json"])
            return
        tell(place.directory, revise)
    elif state.run.mode == "migration" and (due := anyio.run(due_groups, place, state)):
        tell(place.directory, Publish(groups=due))
    begin = partial(_begin, options_of(given), place)
    where = whereabouts(given["repo"], given["state"])
    exit_with(carry_out(begin, given["as_json"], where, given["detach"]))


def _begin(options: Options, place: Place) -> tuple[Place, RunState]:
    return to_be_resumed(options, place.directory.run)
