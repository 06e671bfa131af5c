"""`orchestrate migrate run` and `plan`."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator.cli.options import (
    add_models,
    config_options,
    detach_option,
    disable_cache,
    disable_sandbox,
    engine_limit_options,
    json_option,
    no_cache_option,
    no_sandbox_option,
    parse_settings,
    repository_options,
)
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.run_lifecycle import exit_with, print_failure_as_json, run_with_engine
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.config.flag_values import set_nested_value
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.migrate.recipe import locate_problems
from orchestrator.migrate.scope.planning import WorkFilter
from orchestrator.project.options import Options
from orchestrator.project.recipe_trust import load_trusted_recipe
from orchestrator.run_control.location import RunLocation

_RECIPE = click.argument("recipe", type=click.Path(path_type=Path, dir_okay=False))

_FLAGS = {
    "state": ("state", "dir"),
    "max_workers": ("run", "max_workers"),
    "budget_usd": ("budget", "usd"),
    "approval": ("approval", "mode"),
    "time_limit": ("run", "time_limit_s"),
}
_DRY_RUN_OPTIONS = {"report": "--report", "diff": "--diff", "verify": "--verify"}


@click.command("run")
@_RECIPE
@repository_options
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="ROLE=MODEL",
    help="For steps that ask a model: worker, judge, worker.VARIANT or judge.LENS.",
)
@click.option("--max-workers", type=click.IntRange(1), help="Files that models work on at the same time.")
@click.option("--budget-usd", type=click.FloatRange(0), help="Hard stop for the cost of model calls.")
@click.option("--approval", type=click.Choice(["auto", "review", "pr"]), help="When to ask you, see [approval].")
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    help="Only these files: a glob as in .gitignore, owner:NAME or shard:NAME; as often as you like.",
)
@click.option("--sample", type=click.IntRange(min=0), metavar="N", help="Files that go first, before all others.")
@click.option("--dry-run", is_flag=True, help="Write nothing but a report of what the steps make of the files.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="With --dry-run: the report as Markdown; - is standard output.",
)
@click.option("--diff", is_flag=True, help="With --dry-run: the unified diff as well.")
@click.option("--verify", is_flag=True, help="With --dry-run: run the checks on the base and on all changes together.")
@detach_option
@engine_limit_options
@no_sandbox_option
@no_cache_option
@config_options
@json_option
def run_command(recipe: Path, **given: Any) -> None:  # noqa: ANN401
    """Carry out RECIPE and land every file that is green together with all others that land.

    \b
    orchestrate migrate run recipes/pyupgrade.toml
    orchestrate migrate run flynt.toml --dry-run --diff --sample 5
    orchestrate migrate run flynt.toml --repo ../click --read-only ~/tools --only 'src/**' --json
    orchestrate migrate run tail.toml --model worker=openai/gpt-5-mini --budget-usd 5

    \b
    Exit codes: 0 every changed file landed, 3 some did, 4 none did or nothing changed, 2 wrong recipe or nothing in
    scope, 5 limit reached or no pattern has a site, 6 waits for you, 7 environment, 8 locked, 75 provider down,
    130/143 stopped after a checkpoint. With --dry-run: 0 something would change, 4 nothing would, 3 the checks are red.
    """
    options, work_filter = build_migration_options(given), WorkFilter(given["only"], given["sample"])
    if given["dry_run"]:
        from orchestrator.cli.migrate.dry_run import print_dry_run

        exit_with(print_dry_run(options, recipe, work_filter, given))
    with print_failure_as_json(given["as_json"]):
        _require_dry_run(given)
    where = format_location_options(given["repo"], given["state"])
    exit_with(
        run_with_engine(partial(_create_run, options, recipe, work_filter), given["as_json"], where, given["detach"])
    )


def _require_dry_run(given: dict[str, Any]) -> None:
    """Refuse options that only a dry run has."""
    for name, option in _DRY_RUN_OPTIONS.items():
        if given[name]:
            raise UsageProblem(
                f"{option} is for a dry run: add --dry-run, or see `orchestrate migrate report` afterwards"
            )


def _create_run(options: Options, recipe: Path, work_filter: WorkFilter) -> tuple[RunLocation, RunState]:
    # It takes its time to load, and a mistake is told without it.
    from orchestrator.app.run_creation import create_migration_run

    with locate_problems(recipe):
        location = anyio.run(create_migration_run, options, load_trusted_recipe(options, recipe), work_filter)
    return location, read_state(location.directory.journal)


@click.command("plan")
@_RECIPE
@repository_options
@config_options
@click.option("--all", "shows_all", is_flag=True, help="List every file, directory and shard.")
@json_option
def plan_command(recipe: Path, shows_all: bool, **given: Any) -> None:  # noqa: ANN401
    """Show what RECIPE has in scope and how it is divided: sites, owners, sample, shards, steps. Changes nothing.

    \b
    orchestrate migrate plan recipes/pyupgrade.toml --all
    orchestrate migrate plan flynt.toml --repo ../click --json

    \b
    Exit codes: 0 there is something to do, 5 no pattern has a site, 2 wrong recipe or nothing in scope, 7 environment.
    """
    from orchestrator.discovery.inventory import build_inventory

    with print_failure_as_json(given["as_json"]), locate_problems(recipe):
        options = build_migration_options(given)
        inventory = anyio.run(build_inventory, options, load_trusted_recipe(options, recipe))
    if given["as_json"]:
        print_object(inventory.as_object())
    else:
        print_lines(inventory.render_lines(shows_all))


def build_migration_options(given: dict[str, Any]) -> Options:
    """Return the command's options as `Options`."""
    flags = parse_settings(given["settings"])
    add_models(given.get("models", ()), flags)
    for key, path in _FLAGS.items():
        if given.get(key) not in (None, ""):
            set_nested_value(flags, path, given[key])
    disable_sandbox(flags, given.get("unsafe_no_sandbox", False))
    disable_cache(flags, given.get("no_cache", False))
    return Options(
        repository=given["repo"],
        flags=flags,
        read_only=given.get("read_only", ()),
        trust_project=given["trust_project"],
    )
