"""`orchestrate show`."""

from contextlib import suppress
from pathlib import Path

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import TolerantBlobs, opened, state_of
from orchestrator.domain.state import RunState
from orchestrator.errors import JournalProblem
from orchestrator.report.receipt import CheckLog
from orchestrator.report.task import file_object, file_text, find_file, find_task, task_object, task_text


@click.command("show")
@click.argument("run")
@click.argument("task")
@in_repository
@as_json
def command(run: str, task: str, repo: Path, state: str, as_json: bool) -> None:
    """Show TASK of RUN: its attempts, verdicts and the receipts they rest on. In a migration, TASK is a file,
    or the task in which a model works on one.

    RUN may be `latest` or part of an id.

    \b
    orchestrate show latest storage/index
    orchestrate show 7f3a src/click/formatting.py --json
    """
    directory = state_directory(repo, state).find(run)
    blobs, log = TolerantBlobs(directory), CheckLog()
    with state_of(directory) as found:
        with opened(directory) as store, suppress(JournalProblem):  # `state_of` tells of it at the end
            log.watch(store.of_kinds(CheckLog.KINDS))
        _print(found, task, blobs, log, as_json)
    blobs.tell()


def _print(found: RunState, task: str, blobs: TolerantBlobs, log: CheckLog, as_json: bool) -> None:
    if found.run.mode == "migration" and task not in found.tasks:
        file = find_file(found, task)
        if as_json:
            print_object(file_object(found, file, log, blobs.get))
        else:
            print_lines(file_text(found, file, blobs.get, log))
        return
    wanted = find_task(found, task)
    if as_json:
        print_object(task_object(found, wanted, log, blobs.get))
    else:
        print_lines(task_text(found, wanted, blobs.get, log))
