"""`orchestrate migrate report`."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from orchestrator.cli.journal_reader import read_state_tolerantly
from orchestrator.cli.migrate.status import choose_glyphs
from orchestrator.cli.output import add_file_option, print_document, select_forms, write_report_file
from orchestrator.cli.run_lookup import has_live_engine, pass_run_directory
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.domain.text.listing import add_lead
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.migration.burndown_text import render_burndown_lines
from orchestrator.report.migration.full_report import MigrationReport, build_migration_report
from orchestrator.report.migration.report_csv import render_files_csv, render_series_csv
from orchestrator.report.migration.report_html import render_migration_html
from orchestrator.report.migration.report_markdown import render_migration_markdown

_FORMS: Mapping[str, Callable[[MigrationReport], str]] = {
    "html": render_migration_html,
    "md": render_migration_markdown,
    "csv": render_series_csv,
    "files_csv": render_files_csv,
}


@click.command("report")
@add_file_option("--html", "One page with the curve, the tables and every file")
@add_file_option("--md", "For the body of an issue or a pull request")
@add_file_option("--csv", "The points of the curve")
@add_file_option("--files-csv", "A line for each file")
@add_display_options
@pass_run_directory
def report_command(directory: RunDirectory, as_json: bool, **files: Path | None) -> None:
    """Report on the migration RUN (the latest by default): what landed, what did not and why, how fast it goes.

    \b
    orchestrate migrate report
    orchestrate migrate report 7f3a --html report.html --files-csv files.csv
    orchestrate migrate report --md - | gh issue create --title Migration --body-file -
    """
    wanted = select_forms(files, as_json)
    with read_state_tolerantly(directory) as found:
        if found.run.mode != "migration":
            raise UsageProblem(f"run {found.run.run} is no migration: orchestrate report {found.run.run}")
        report = build_migration_report(found, has_live_engine(directory))
        for form, path in wanted.items():
            write_report_file(path, _FORMS[form](report))
        if as_json or not wanted:
            headline = f"{report.run}  {report.condition.word}{add_lead(': ', report.condition.cause)}"
            print_document(report, [headline, *render_burndown_lines(report, choose_glyphs())], as_json)
