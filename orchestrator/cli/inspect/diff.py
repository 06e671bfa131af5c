"""`orchestrate diff`."""

import sys
from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import repository_options
from orchestrator.cli.journal_reader import read_state_tolerantly
from orchestrator.cli.run_lookup import find_state_directory
from orchestrator.domain.text.truncation import show_control_characters
from orchestrator.run_control.diffs import render_change


@click.command("diff")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--attempt", type=click.IntRange(1), help="This attempt of the task; the latest if not given.")
@click.option("--stat", is_flag=True, help="Only the size of the change, file by file.")
@repository_options
def diff_command(run: str | None, task: str | None, attempt: int | None, stat: bool, repo: Path, state: str) -> None:
    """Print what RUN has landed, or the candidate of TASK (in a migration: of a file, landed or not).

    \b
    orchestrate diff
    orchestrate diff latest storage/index --attempt 1
    orchestrate diff 7f3a src/click/formatting.py
    """
    directory = find_state_directory(repo, state).find_run(run)
    with read_state_tolerantly(directory) as found:
        text = anyio.run(render_change, repo, found, task, attempt, stat)
        if sys.stdout.isatty():  # into a file or pipe it goes as it is, so that it can be applied
            text = show_control_characters(text)
        click.echo(text, nl=not text.endswith("\n"))
