"""`orchestrate show`."""

from pathlib import Path

import click

from orchestrator.cli.arguments import common_options
from orchestrator.cli.journal_reader import TolerantBlobs, fill_log, read_state_tolerantly
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import find_state_directory
from orchestrator.domain.run.state import RunState
from orchestrator.report.task.details import (
    build_file_evidence,
    build_task_details,
    get_file_record,
    get_task,
    render_file_evidence,
    render_task_details,
)
from orchestrator.report.task.receipt import CheckLog


@click.command("show")
@click.argument("run")
@click.argument("task")
@common_options
def show_command(run: str, task: str, repo: Path, state: str, as_json: bool) -> None:
    """Show TASK of RUN: its attempts, verdicts and the receipts they rest on. In a migration, TASK is a file,
    or the task in which a model works on one.

    RUN may be `latest` or part of an id.

    \b
    orchestrate show latest storage/index
    orchestrate show 7f3a src/click/formatting.py --json
    """
    directory = find_state_directory(repo, state).find_run(run)
    blobs, log = TolerantBlobs(directory), CheckLog()
    with read_state_tolerantly(directory) as found:
        fill_log(directory, log)
        _print(found, task, blobs, log, as_json)
    blobs.raise_problem()


def _print(found: RunState, task: str, blobs: TolerantBlobs, log: CheckLog, as_json: bool) -> None:
    if found.run.mode == "migration" and task not in found.tasks:
        file = get_file_record(found, task)
        evidence = build_file_evidence(found, file, log, blobs.get)
        print_document(evidence, render_file_evidence(found, file, blobs.get, log), as_json)
        return
    wanted = get_task(found, task)
    details = build_task_details(found, wanted, log, blobs.get)
    print_document(details, render_task_details(found, wanted, blobs.get, log), as_json)
