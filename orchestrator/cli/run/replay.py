"""`orchestrate replay`."""

from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.cli.options import json_option, parse_settings, repository_options
from orchestrator.cli.output import convert_to_user_error, exit_with, print_lines, print_object
from orchestrator.cli.progress import ProgressWatcher, choose_watcher
from orchestrator.config.flag_values import set_nested_value
from orchestrator.errors import OrchestrateError
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report import ReplayReport, build_report_object
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.report.run.model import RunFailure
from orchestrator.scratch_runs.replay import replay_run
from worktrees.errors import GitError


@click.command("replay")
@click.argument("run", required=False)
@repository_options
@click.option(
    "--with",
    "prompts",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Prompts (judge.md, …) to use instead of the shipped ones.",
)
@click.option(
    "--only", type=click.Choice(["planner", "worker", "judge"]), help="Ask this role again, and take only its prompts."
)
@click.option("--model", default="", metavar="MODEL", help="What to ask the role again on, if not its own model.")
@click.option("--offline", is_flag=True, help="Ask nobody; only show where the changed prompts first differ.")
@click.option("--budget-usd", type=click.FloatRange(0), help="Hard stop for the cost of asking again.")
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
@click.option("--read-only", multiple=True, metavar="DIR", help="Bind a tool chain's directory into the sandbox.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml.")
@json_option
def replay_command(run: str | None, **given: Any) -> None:  # noqa: ANN401
    """Do RUN (the latest if not named) over from its journal, offline, and say where it first diverges.

    The models' replies are the recorded ones; tools, checks, merges and landings really happen again, in a scratch
    directory. Your repository and the run are not touched. With --only one role is asked again, call by call, in
    exactly the recorded contexts.

    \b
    orchestrate replay
    orchestrate replay 7f3a --with prompts/ --only judge
    orchestrate replay 7f3a --only judge --model anthropic/claude-opus-4-5 --budget-usd 2

    \b
    Exit codes: 0 the same, 1 it diverges or decides otherwise, 2 usage, 5 the budget is spent, 7 environment.
    """
    flags = parse_settings(given["settings"])
    for key, path in (("state", "state.dir"), ("budget_usd", "budget.usd")):
        if given[key] not in (None, ""):
            set_nested_value(flags, path.split("."), given[key])
    if given["read_only"]:
        set_nested_value(
            flags, ("hands", "read_only"), [str(Path(d).expanduser().absolute()) for d in given["read_only"]]
        )
    replay_options = ReplayOptions(given["prompts"], given["only"], given["model"], given["offline"], given["keep"])
    exit_with(_replay_and_print(Options(repository=given["repo"], flags=flags), run, replay_options, given["as_json"]))


def _replay_and_print(options: Options, run: str | None, replay_options: ReplayOptions, as_json: bool) -> int:
    async def run_with_watcher(watcher: ProgressWatcher) -> ReplayReport:
        return await replay_run(options, run, replay_options, watcher)

    try:
        with choose_watcher() as watcher:
            report = anyio.run(run_with_watcher, watcher)
    except (OrchestrateError, GitError, OSError) as error:
        problem = convert_to_user_error(error)
        if as_json and problem:
            print_object(RunFailure(error=str(problem), exit=problem.exit_code).as_object())
        raise
    if as_json:
        print_object(build_report_object(report))
    else:
        print_lines(render_report(report))
    return report.exit_code
