"""`orchestrate migrate run --dry-run`."""

from pathlib import Path

import anyio

from orchestrator.cli.output import print_document, warn_if_unsafe, write_report_file
from orchestrator.cli.progress import ProgressWatcher, choose_watcher
from orchestrator.cli.run_lifecycle import print_failure_as_json
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import locate_problems
from orchestrator.project.options import Options
from orchestrator.project.recipe_trust import load_trusted_recipe
from orchestrator.report.migration.dry_run import DryRunReport, render_dry_run_lines, render_dry_run_markdown
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe

_STDOUT = Path("-")


def print_dry_run(
    options: Options, recipe: Path, dry_run_options: DryRunOptions, report_file: Path | None, as_json: bool
) -> int:
    """Try a recipe, print the result, and return the exit code; a report as Markdown goes to `report_file`.

    Raises:
        UsageProblem: the options contradict each other.
        OrchestrateError: it had to stop.
    """
    with print_failure_as_json(as_json):
        if report_file == _STDOUT and as_json:
            raise UsageProblem("--json and --report - both go to standard output: name a file for the report")
        report = _try_recipe(options, recipe, dry_run_options)
        if report_file is not None:
            write_report_file(report_file, render_dry_run_markdown(report))
    warn_if_unsafe(report.unsafe)
    if as_json or report_file != _STDOUT:
        print_document(report, render_dry_run_lines(report), as_json)
    return report.exit


def _try_recipe(options: Options, recipe: Path, dry_run_options: DryRunOptions) -> DryRunReport:
    async def run_with_watcher(watcher: ProgressWatcher) -> DryRunReport:
        return await dry_run_recipe(options, load_trusted_recipe(options, recipe), dry_run_options, watcher)

    with choose_watcher() as watcher, locate_problems(recipe):
        return anyio.run(run_with_watcher, watcher)
