"""`orchestrate migrate run --dry-run`."""

from pathlib import Path
from typing import Any

import anyio

from orchestrator.cli.output import print_alarm, print_lines, print_object
from orchestrator.cli.progress import ProgressWatcher, choose_watcher
from orchestrator.cli.report_files import write_report_file
from orchestrator.cli.run_lifecycle import print_failure_as_json
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import locate_problems
from orchestrator.migrate.scope.planning import WorkFilter
from orchestrator.project.options import Options
from orchestrator.project.recipe_trust import load_trusted_recipe
from orchestrator.report.migration.dry_run_model import DryRunReport
from orchestrator.report.migration.dry_run_text import render_dry_run_lines, render_dry_run_markdown
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe

_STDOUT = Path("-")


def print_dry_run(options: Options, recipe: Path, work_filter: WorkFilter, given: dict[str, Any]) -> int:
    """Try a recipe, print the result, and return the exit code.

    Raises:
        UsageProblem: the options contradict each other.
        OrchestrateError: it had to stop.
    """
    report_file: Path | None = given["report"]
    with print_failure_as_json(given["as_json"]):
        if given["detach"]:
            raise UsageProblem("--detach and --dry-run: a dry run leaves nothing that could go on; drop one of them")
        if report_file == _STDOUT and given["as_json"]:
            raise UsageProblem("--json and --report - both go to standard output: name a file for the report")
        dry_run_options = DryRunOptions(work_filter, verify=given["verify"], diff=given["diff"])
        report = _try_recipe(options, recipe, dry_run_options)
        if report_file is not None:
            write_report_file(report_file, render_dry_run_markdown(report))
    if report.unsafe:
        print_alarm(UNSAFE_BANNER)
    if given["as_json"]:
        print_object(report.as_object())
    elif report_file != _STDOUT:
        print_lines(render_dry_run_lines(report))
    return report.exit


def _try_recipe(options: Options, recipe: Path, dry_run_options: DryRunOptions) -> DryRunReport:
    async def run_with_watcher(watcher: ProgressWatcher) -> DryRunReport:
        return await dry_run_recipe(options, load_trusted_recipe(options, recipe), dry_run_options, watcher)

    with choose_watcher() as watcher, locate_problems(recipe):
        return anyio.run(run_with_watcher, watcher)
