"""`orchestrate show`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from orchestrator.cli.arguments import json_option
from orchestrator.cli.journal_reader import TolerantBlobs, fill_log, read_state_tolerantly
from orchestrator.cli.output import print_document, print_lines
from orchestrator.cli.run_lookup import pass_run_target
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.cli.terminal.painting import paint_details
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.question_targets import find_target_question, render_target_question
from orchestrator.report.rows.questions import find_question_task
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
@click.option("--all", "everything", is_flag=True, help="Every receipt with its output and a line that runs it again.")
@add_display_options
@json_option
def show_command(target: "RunTarget", everything: bool, as_json: bool) -> None:
    """Show TASK of RUN: the outcome and its cause, what to do next, then attempts, verdicts and the receipts
    they rest on. In a migration, TASK is a file, or the task in which a model works on one.

    One word that is no run means a task, file or question of the latest run. Without TASK: the goal as a whole.

    \b
    orchestrate show storage/index
    orchestrate show 7f3a src/click/formatting.py --json
    """
    blobs, log = TolerantBlobs(target.directory), CheckLog()
    with read_state_tolerantly(target.directory) as found:
        fill_log(target.directory, log)
        _print_target(_Shown(found, blobs, log, everything, as_json), target.name or ROOT_TASK)
    blobs.raise_problem()


@dataclass(frozen=True)
class _Shown:
    state: RunState
    blobs: TolerantBlobs
    log: CheckLog
    everything: bool
    as_json: bool


def _print_target(shown: _Shown, name: str) -> None:
    question = find_target_question(shown.state, name)
    if question is None:
        _print_part(shown, name)
        return
    if not shown.as_json:
        print_lines(render_target_question(shown.state, question, datetime.now(UTC)))
    task = find_question_task(shown.state, question.approval)
    if task is not None:
        if not shown.as_json:
            print_lines([""])
        _print_part(shown, task)
    elif shown.as_json:
        raise UsageProblem(f"question {name} is about the whole run: orchestrate inbox --json shows it")


def _print_part(shown: _Shown, name: str) -> None:
    state, blobs, log = shown.state, shown.blobs, shown.log
    if state.run.mode == "migration" and name not in state.tasks:
        if name == ROOT_TASK:
            hint = f"orchestrate show {state.run.run} FILE; orchestrate migrate report {state.run.run} lists them"
            raise UsageProblem(f"say which file of the migration: {hint}")
        file = get_file_record(state, name)
        evidence = build_file_evidence(state, file, log, blobs.get)
        print_document(evidence, render_file_evidence(state, file, blobs.get, log), shown.as_json, paint_details)
        return
    task = get_task(state, name)
    details = build_task_details(state, task, log, blobs.get)
    lines = render_task_details(state, task, blobs.get, log, is_folded=not shown.everything)
    print_document(details, lines, shown.as_json, paint_details)
