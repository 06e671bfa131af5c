"""`orchestrate migrate run`, `plan` and `resume`."""

from functools import partial
from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator.cli import arguments
from orchestrator.cli.control.delivery import deliver_command, find_commanded_run
from orchestrator.cli.flags import build_options, build_rerun_options
from orchestrator.cli.output import exit_with, print_document, print_message
from orchestrator.cli.run_lifecycle import print_failure_as_json, run_with_engine
from orchestrator.cli.run_lookup import has_live_engine, locate_named_run
from orchestrator.domain.commands.definitions import Publish
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.migrate.recipe import load_recipe, locate_problems
from orchestrator.migrate.scope.planning import WorkFilter
from orchestrator.project.options import Options
from orchestrator.project.recipe_trust import load_trusted_recipe
from orchestrator.run_control.control import RunLocation, prepare_resume, send_command
from orchestrator.run_control.migration_commands import build_revise_command, list_due_groups

_RECIPE = click.argument("recipe", type=arguments.FILE)


class _RunArguments(arguments.VerbArguments):
    """The values of the options of `migrate run`."""

    only: tuple[str, ...]
    sample: int | None
    dry_run: bool
    report: Path | None
    diff: bool
    verify: bool


@click.command("run")
@_RECIPE
@arguments.repository_options
@arguments.add_role_options(
    "For steps that ask a model: worker, judge, worker.VARIANT or judge.LENS.",
    "Files that models work on at the same time.",
)
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
    type=arguments.FILE_OR_STDOUT,
    metavar="FILE",
    help="With --dry-run: the report as Markdown; - is standard output.",
)
@click.option("--diff", is_flag=True, help="With --dry-run: the unified diff as well.")
@click.option("--verify", is_flag=True, help="With --dry-run: run the checks on the base and on all changes together.")
@arguments.detach_option
@arguments.naming_options
@arguments.engine_limit_options
@arguments.no_sandbox_option
@arguments.no_cache_option
@arguments.config_options
@arguments.json_option
def run_command(recipe: Path, **given: Unpack[_RunArguments]) -> None:
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
    options, work_filter = build_options(given), WorkFilter(given["only"], given["sample"])
    if given["dry_run"]:
        from orchestrator.cli.migrate.dry_run import print_dry_run
        from orchestrator.scratch_runs.dry_run import DryRunOptions

        with print_failure_as_json(given["as_json"]):
            if given["detach"]:
                raise UsageProblem(
                    "--detach and --dry-run: a dry run leaves nothing that could go on; drop one of them"
                )
            dry_run_options = DryRunOptions(work_filter, verify=given["verify"], diff=given["diff"])
        exit_with(print_dry_run(options, recipe, dry_run_options, given["report"], given["as_json"]))
    with print_failure_as_json(given["as_json"]):
        _require_dry_run(given)
    run_with_engine(partial(_create_run, options, recipe, work_filter), given)


def _require_dry_run(given: _RunArguments) -> None:
    """Refuse options that only a dry run has."""
    for option, value in (("--report", given["report"]), ("--diff", given["diff"]), ("--verify", given["verify"])):
        if value:
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
@arguments.repository_options
@arguments.config_options
@click.option("--all", "shows_all", is_flag=True, help="List every file, directory and shard.")
@arguments.json_option
def plan_command(recipe: Path, shows_all: bool, **given: Unpack[arguments.VerbArguments]) -> None:
    """Show what RECIPE has in scope and how it is divided: sites, owners, sample, shards, steps. Changes nothing.

    \b
    orchestrate migrate plan recipes/pyupgrade.toml --all
    orchestrate migrate plan flynt.toml --repo ../click --json

    \b
    Exit codes: 0 there is something to do, 5 no pattern has a site, 2 wrong recipe or nothing in scope, 7 environment.
    """
    from orchestrator.discovery.migration_events import build_inventory

    with print_failure_as_json(given["as_json"]), locate_problems(recipe):
        options = build_options(given)
        inventory = anyio.run(build_inventory, options, load_trusted_recipe(options, recipe))
    print_document(inventory.build_document(), inventory.render_lines(shows_all), given["as_json"])


@click.command("resume")
@click.argument("run", required=False)
@arguments.repository_options
@arguments.resume_options
@click.option(
    "--recipe",
    type=arguments.FILE,
    help="Go on by this edited recipe; only files that it makes a difference to are done again.",
)
@arguments.json_option
def resume_command(run: str | None, recipe: Path | None, **given: Unpack[arguments.VerbArguments]) -> None:
    """Go on with RUN (the latest by default) from wherever it stopped, also after kill -9, or by an edited recipe.

    Of a run that has ended, pull requests are opened that had to wait for others to be merged.

    \b
    orchestrate migrate resume
    orchestrate migrate resume latest --recipe unittest-to-pytest.toml
    """
    run, given["repo"], given["state"] = locate_named_run(run, given["repo"], given["state"])
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
