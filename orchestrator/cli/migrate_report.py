"""`orchestrate migrate report`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.migrate_status import glyphs
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import state_of
from orchestrator.cli.writing import into, wanted_forms, write_out
from orchestrator.errors import UsageProblem
from orchestrator.report.burndown_text import burndown_lines
from orchestrator.report.migration import report_object
from orchestrator.report.migration_csv import files_csv, series_csv
from orchestrator.report.migration_html import report_html
from orchestrator.report.migration_md import report_md

_FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "html": report_html,
    "md": report_md,
    "csv": series_csv,
    "files_csv": files_csv,
}


@click.command("report")
@click.argument("run", required=False)
@into("--html", "One page with the curve, the tables and every file")
@into("--md", "For the body of an issue or a pull request")
@into("--csv", "The points of the curve")
@into("--files-csv", "A line for each file")
@in_repository
@as_json
def command(run: str | None, repo: Path, state: str, as_json: bool, **files: Path | None) -> None:
    """Report on the migration RUN (the latest if not named): what landed, what did not and why, how fast it goes.

    \b
    orchestrate migrate report
    orchestrate migrate report 7f3a --html report.html --files-csv files.csv
    orchestrate migrate report --md - | gh issue create --title Migration --body-file -
    """
    wanted = wanted_forms(files, as_json)
    with state_of(state_directory(repo, state).find(run)) as found:
        if found.run.mode != "migration":
            raise UsageProblem(f"run {found.run.run} is no migration: orchestrate report {found.run.run}")
        report = report_object(found)
        for form, path in wanted.items():
            write_out(path, _FORMS[form](report))
        if as_json:
            print_object(report)
        elif not wanted:
            reason = f": {report['reason']}" if report["reason"] else ""
            print_lines([f"{report['run']}  {report['outcome']}{reason}", *burndown_lines(report, glyphs())])
