"""`orchestrate show`."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.arguments import json_option
from orchestrator.cli.journal_reader import TolerantBlobs, fill_log, read_state_tolerantly
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import pass_run_target
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.task.details import (
    build_file_evidence,
    build_task_details,
    get_file_record,
    get_task,
    render_file_evidence,
    render_task_details,
)
from orchestrator.report.task.receipt import CheckLog

if TYPE_CHECKING:
    from orchestrator.discovery.run_targets import RunTarget


@click.command("show")
@pass_run_target
@json_option
def show_command(target: "RunTarget", as_json: bool) -> None:
    """Show TASK of RUN: its attempts, verdicts and the receipts they rest on. In a migration, TASK is a file,
    or the task in which a model works on one.

    One word that is no run means a task, file or question of the latest run. Without TASK: the goal as a whole.

    \b
    orchestrate show storage/index
    orchestrate show 7f3a src/click/formatting.py --json
    """
    blobs, log = TolerantBlobs(target.directory), CheckLog()
    with read_state_tolerantly(target.directory) as found:
        fill_log(target.directory, log)
        _print(found, target.name or ROOT_TASK, blobs, log, as_json)
    blobs.raise_problem()


def _print(found: RunState, task: str, blobs: TolerantBlobs, log: CheckLog, as_json: bool) -> None:
    if found.run.mode == "migration" and task not in found.tasks:
        if task == ROOT_TASK:
            run = found.run.run
            raise UsageProblem(
                f"say which file: orchestrate show {run} FILE; orchestrate migrate report {run} lists them"
            )
        file = get_file_record(found, task)
        evidence = build_file_evidence(found, file, log, blobs.get)
        print_document(evidence, render_file_evidence(found, file, blobs.get, log), as_json)
        return
    wanted = get_task(found, task)
    details = build_task_details(found, wanted, log, blobs.get)
    print_document(details, render_task_details(found, wanted, blobs.get, log), as_json)
