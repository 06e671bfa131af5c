"""`orchestrate diff`."""

import sys
from typing import TYPE_CHECKING

import anyio
import click

from orchestrator.cli.journal_reader import read_state_tolerantly
from orchestrator.cli.run_lookup import pass_run_target
from orchestrator.cli.terminal.choices import add_display_options, wants_colour
from orchestrator.cli.terminal.pager import print_pages
from orchestrator.cli.terminal.painting import paint_diff
from orchestrator.domain.text.truncation import show_control_characters
from orchestrator.run_control.diffs import render_change

if TYPE_CHECKING:
    from orchestrator.discovery.run_targets import RunTarget


@click.command("diff")
@pass_run_target
@click.option("--attempt", type=click.IntRange(1), help="This attempt of the task; the latest if not given.")
@click.option("--stat", is_flag=True, help="Only the size of the change, file by file.")
@add_display_options
def diff_command(target: "RunTarget", attempt: int | None, stat: bool) -> None:
    """Print what RUN has landed, or the candidate of TASK (in a migration: of a file, landed or not).

    One word that is no run means a task, file or question of the latest run.

    \b
    orchestrate diff
    orchestrate diff storage/index --attempt 1
    orchestrate diff 7f3a src/click/formatting.py
    """
    with read_state_tolerantly(target.directory) as found:
        text = anyio.run(render_change, target.repository, found, target.name, attempt, stat)
        _print_diff(text, stat)


def _print_diff(text: str, stat: bool) -> None:
    """Print a diff: into a file or pipe as it is, so that it can be applied, unless colours are asked for."""
    is_coloured = wants_colour(sys.stdout)
    if not (is_coloured or sys.stdout.isatty()):
        click.echo(text, nl=not text.endswith("\n"), color=True)
        return
    lines = show_control_characters(text).removesuffix("\n").split("\n")
    if stat:
        print_pages(lines)
    else:
        print_pages(paint_diff(lines))
