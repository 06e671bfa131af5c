"""`orchestrate resume`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.app.options import Options
from orchestrator.app.place import to_be_resumed
from orchestrator.cli.finding import whereabouts
from orchestrator.cli.options import as_json, detached, in_repository, running, settings_of, uncached, without_cache
from orchestrator.cli.running import carry_out, exit_with
from orchestrator.config.values import nest

F = TypeVar("F", bound=Callable[..., Any])


def asked_for(function: F) -> F:
    """The options with which settings of a run are changed when it goes on."""
    budget = click.option("--budget-usd", type=click.FloatRange(0), help="A new budget of the whole run.")
    settings = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml.")
    return uncached(budget(settings(function)))


def options_of(given: dict[str, Any]) -> Options:
    """What these options ask for."""
    flags = settings_of(given["settings"])
    for key, path in (("state", "state.dir"), ("budget_usd", "budget.usd"), ("time_limit", "run.time_limit_s")):
        if given[key] not in (None, ""):
            nest(flags, path.split("."), given[key])
    if given["read_only"]:
        nest(flags, ("hands", "read_only"), [str(Path(d).expanduser().absolute()) for d in given["read_only"]])
    without_cache(flags, given["no_cache"])
    return Options(repository=given["repo"], flags=flags)


@click.command("resume")
@click.argument("run", required=False)
@in_repository
@detached
@running
@asked_for
@as_json
def command(run: str | None, **given: Any) -> None:  # noqa: ANN401
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9.

    Nothing recorded is lost and nothing lands twice. A model call that was under way is made again.

    \b
    orchestrate resume
    orchestrate resume 7f3a --budget-usd 20
    """
    where = whereabouts(given["repo"], given["state"])
    begin = partial(to_be_resumed, options_of(given), run)
    exit_with(carry_out(begin, given["as_json"], where, given["detach"]))
