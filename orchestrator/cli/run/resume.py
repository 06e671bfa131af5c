"""`orchestrate resume`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.cli.options import (
    detach_option,
    disable_cache,
    engine_limit_options,
    json_option,
    no_cache_option,
    parse_settings,
    repository_options,
)
from orchestrator.cli.output import exit_with
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.config.flag_values import set_nested_value
from orchestrator.project.options import Options
from orchestrator.run_control.location import prepare_resume

F = TypeVar("F", bound=Callable[..., Any])


def add_resume_options(function: F) -> F:
    """Add the options that change settings of a run when it goes on."""
    budget = click.option("--budget-usd", type=click.FloatRange(0), help="A new budget of the whole run.")
    settings = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml.")
    return no_cache_option(budget(settings(function)))


def build_resume_options(given: dict[str, Any]) -> Options:
    """Return the command's options as `Options`."""
    flags = parse_settings(given["settings"])
    for key, path in (("state", "state.dir"), ("budget_usd", "budget.usd"), ("time_limit", "run.time_limit_s")):
        if given[key] not in (None, ""):
            set_nested_value(flags, path.split("."), given[key])
    if given["read_only"]:
        set_nested_value(
            flags, ("hands", "read_only"), [str(Path(d).expanduser().absolute()) for d in given["read_only"]]
        )
    disable_cache(flags, given["no_cache"])
    return Options(repository=given["repo"], flags=flags)


@click.command("resume")
@click.argument("run", required=False)
@repository_options
@detach_option
@engine_limit_options
@add_resume_options
@json_option
def resume_command(run: str | None, **given: Any) -> None:  # noqa: ANN401
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9.

    Nothing recorded is lost and nothing lands twice. A model call that was under way is made again.

    \b
    orchestrate resume
    orchestrate resume 7f3a --budget-usd 20
    """
    where = format_location_options(given["repo"], given["state"])
    begin = partial(prepare_resume, build_resume_options(given), run)
    exit_with(run_with_engine(begin, given["as_json"], where, given["detach"]))
