"""`orchestrate resume`."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, Unpack

import click

from orchestrator.cli.flags import Flags
from orchestrator.cli.options import (
    CommonArguments,
    EngineLimitArguments,
    detach_option,
    engine_limit_options,
    json_option,
    no_cache_option,
    repository_options,
)
from orchestrator.cli.output import exit_with
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.project.options import Options
from orchestrator.run_control.location import prepare_resume

F = TypeVar("F", bound=Callable[..., Any])


def add_resume_options(function: F) -> F:
    """Add the options that change settings of a run when it goes on."""
    budget = click.option("--budget-usd", type=click.FloatRange(0), help="A new budget of the whole run.")
    settings = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml.")
    return no_cache_option(budget(settings(function)))


class ResumeArguments(CommonArguments, EngineLimitArguments):
    """The values of a verb with `add_resume_options`."""

    settings: tuple[str, ...]
    budget_usd: float | None
    no_cache: bool
    detach: bool


def build_resume_options(given: ResumeArguments) -> Options:
    """Return the command's options as `Options`."""
    flags = Flags(given["settings"], given["state"])
    flags.set_value("budget.usd", given["budget_usd"])
    flags.set_value("run.time_limit_s", given["time_limit"])
    flags.set_read_only(given["read_only"])
    flags.set_no_cache(given["no_cache"])
    return Options(given["repo"], flags.values)


@click.command("resume")
@click.argument("run", required=False)
@repository_options
@detach_option
@engine_limit_options
@add_resume_options
@json_option
def resume_command(run: str | None, **given: Unpack[ResumeArguments]) -> None:
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9.

    Nothing recorded is lost and nothing lands twice. A model call that was under way is made again.

    \b
    orchestrate resume
    orchestrate resume 7f3a --budget-usd 20
    """
    where = format_location_options(given["repo"], given["state"])
    begin = partial(prepare_resume, build_resume_options(given), run)
    exit_with(run_with_engine(begin, given["as_json"], where, given["detach"]))
