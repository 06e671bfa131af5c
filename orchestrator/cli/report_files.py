"""Add options that name files for the forms of a report, and write those files."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.options import FILE_OR_STDOUT
from orchestrator.cli.output import print_message
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.errors import EnvironmentProblem, UsageProblem

_STDOUT = Path("-")


def add_file_option(name: str, what: str) -> Callable[[Any], Any]:
    """Return an option with the file for one form."""
    kind = FILE_OR_STDOUT
    return click.option(name, type=kind, metavar="FILE", help=f"{what}; - is standard output.")


def select_forms(files: Mapping[str, Path | None], as_json: bool) -> Mapping[str, Path]:
    """Return the forms that a file was named for.

    Raises:
        UsageProblem: more than one of them would go to standard output.
    """
    wanted = {form: path for form, path in files.items() if path is not None}
    if sum(path == _STDOUT for path in wanted.values()) + as_json > 1:
        raise UsageProblem("only one of the forms can go to standard output: name a file for the others")
    return wanted


def write_report_file(path: Path, text: str) -> None:
    """Write a form of the report to a file, or to standard output for `-`.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    if path == _STDOUT:
        click.echo(strip_controls(text) if sys.stdout.isatty() else text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}") from error
    print_message(f"wrote {path}")
