"""`orchestrate migrate report`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.migrate_status import glyphs
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object, say
from orchestrator.cli.reading import state_of
from orchestrator.domain.plain import strip_controls
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.report.burndown_text import burndown_lines
from orchestrator.report.migration import report_object
from orchestrator.report.migration_csv import files_csv, series_csv
from orchestrator.report.migration_html import report_html
from orchestrator.report.migration_md import report_md

_STDOUT = Path("-")
_FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "html": report_html,
    "md": report_md,
    "csv": series_csv,
    "files_csv": files_csv,
}


def _into(name: str, what: str) -> Callable[[Any], Any]:
    kind = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
    return click.option(name, type=kind, metavar="FILE", help=f"{what}; - is standard output.")


@click.command("report")
@click.argument("run", required=False)
@_into("--html", "One page with the curve, the tables and every file")
@_into("--md", "For the body of an issue or a pull request")
@_into("--csv", "The points of the curve")
@_into("--files-csv", "A line for each file")
@in_repository
@as_json
def command(run: str | None, repo: Path, state: str, as_json: bool, **files: Path | None) -> None:
    """Report on the migration RUN (the latest if not named): what landed, what did not and why, how fast it goes.

    \b
    orchestrate migrate report
    orchestrate migrate report 7f3a --html report.html --files-csv files.csv
    orchestrate migrate report --md - | gh issue create --title Migration --body-file -
    """
    wanted = {form: path for form, path in files.items() if path is not None}
    if sum(path == _STDOUT for path in wanted.values()) + as_json > 1:
        raise UsageProblem("only one of the forms can go to standard output: name a file for the others")
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


def write_out(path: Path, text: str) -> None:
    """Write a form of the report.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    if path == _STDOUT:
        click.echo(strip_controls(text), nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}") from error
    say(f"wrote {path}")
