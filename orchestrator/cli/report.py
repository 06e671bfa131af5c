"""`orchestrate report`."""

from contextlib import suppress
from pathlib import Path

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import opened, state_of
from orchestrator.domain.ids import TaskId
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.runs import RunDirectory
from orchestrator.report.judging import Judging
from orchestrator.report.judging_view import judging_lines, judging_object
from orchestrator.report.lenses import VoteLog
from orchestrator.report.task import find_task


@click.command("report")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--all", "is_all", is_flag=True, help="All runs of the repository together.")
@in_repository
@as_json
def command(run: str | None, task: str | None, is_all: bool, repo: Path, state: str, as_json: bool) -> None:
    """Show how RUN was judged (the latest run if not named), or TASK of it with all below it.

    Verdicts and their causes, attempts, receipts, flaky tests; and for each reviewer how often what it approved was
    shown to be bad later, and how often what it refused landed after all. Rates need --all to mean much.

    \b
    orchestrate report
    orchestrate report --all --json
    orchestrate report 7f3a storage
    """
    if is_all and run:
        raise UsageProblem("--all counts every run: name none with it")
    found = state_directory(repo, state)
    judging, top = Judging(), TaskId(task) if task else None
    latest, problem = found.find(run), None
    for directory in found.runs() if is_all else [latest]:
        try:
            _count(judging, directory, top)
        except JournalProblem as damage:
            problem = damage
        except UsageProblem:  # it stopped before its first event, or has no such task
            if not is_all:
                raise
    if problem and not judging.runs:
        raise problem
    if as_json:
        print_object(judging_object(judging, top))
    else:
        print_lines(judging_lines(judging))
    if problem:
        raise problem


def _count(judging: Judging, directory: RunDirectory, top: TaskId | None) -> None:
    """Count a run, or what can be read of it before that is told."""
    with state_of(directory) as state:
        if top is not None:
            find_task(state, top)
        votes = VoteLog()
        with opened(directory) as store, suppress(JournalProblem):  # `state_of` tells of it at the end
            votes.watch(store.of_kinds(VoteLog.KINDS))
        judging.add(state, votes, top)
