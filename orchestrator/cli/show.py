"""`orchestrate show`."""

from pathlib import Path

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import TolerantBlobs, state_of
from orchestrator.domain.state import RunState
from orchestrator.report.task import file_object, file_text, find_file, find_task, task_object, task_text


@click.command("show")
@click.argument("run")
@click.argument("task")
@in_repository
@as_json
def command(run: str, task: str, repo: Path, state: str, as_json: bool) -> None:
    """Show TASK of RUN: its attempts, verdicts and the receipts they rest on. In a migration, TASK is a file.

    RUN may be `latest` or part of an id.

    \b
    orchestrate show latest storage/index
    orchestrate show 7f3a src/click/formatting.py --json
    """
    directory = state_directory(repo, state).find(run)
    blobs = TolerantBlobs(directory)
    with state_of(directory) as found:
        _print(found, task, blobs, as_json)
    blobs.tell()


def _print(found: RunState, task: str, blobs: TolerantBlobs, as_json: bool) -> None:
    if found.run.mode == "migration":
        file = find_file(found, task)
        output = file_object(found, file) if as_json else file_text(found, file, blobs.get)
    else:
        wanted = find_task(found, task)
        output = task_object(found, wanted) if as_json else task_text(found, wanted, blobs.get)
    if isinstance(output, dict):
        print_object(output)
    else:
        print_lines(output)
