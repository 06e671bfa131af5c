"""`orchestrate replay`."""

from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.cli.arguments import (
    DollarLimit,
    VerbArguments,
    json_option,
    read_only_option,
    repository_options,
    settings_option,
)
from orchestrator.cli.flags import build_rerun_options
from orchestrator.cli.output import exit_with, print_document
from orchestrator.cli.progress import ProgressWatcher, choose_watcher
from orchestrator.cli.run_lifecycle import print_failure_as_json
from orchestrator.cli.run_lookup import locate_named_run
from orchestrator.domain.chat import Role
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report import ReplayReport, build_replay_document
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.scratch_runs.replay import replay_run


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
    "--only",
    type=click.Choice(["planner", "worker", "judge", "verifier", "arbiter"]),
    help="Ask this role again, and take only its prompts.",
)
@click.option("--model", default="", metavar="MODEL", help="The model to ask again; the role's own by default.")
@click.option("--offline", is_flag=True, help="Ask no model; only show where the changed prompts first differ.")
@click.option("--budget-usd", type=DollarLimit(), metavar="USD", help="Hard stop for the cost of asking again.")
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
@read_only_option
@settings_option
@json_option
def replay_command(
    run: str | None,
    *,
    prompts: Path | None,
    only: Role | None,
    model: str,
    offline: bool,
    keep: bool,
    **given: Unpack[VerbArguments],
) -> None:
    """Replay RUN (the latest by default) from its journal, offline, and show where it first diverges.

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
    run, given["repo"], given["state"] = locate_named_run(run, given["repo"], given["state"])
    replay_options = ReplayOptions(prompts, only, model, offline, keep)
    exit_with(_replay_and_print(build_rerun_options(given), run, replay_options, given["as_json"]))


def _replay_and_print(options: Options, run: str | None, replay_options: ReplayOptions, as_json: bool) -> int:
    async def run_with_watcher(watcher: ProgressWatcher) -> ReplayReport:
        return await replay_run(options, run, replay_options, watcher)

    with print_failure_as_json(as_json), choose_watcher() as watcher:
        report = anyio.run(run_with_watcher, watcher)
    print_document(build_replay_document(report), render_report(report), as_json)
    return report.exit_code
