"""`orchestrate report`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click

from orchestrator import __version__
from orchestrator.cli.arguments import common_options
from orchestrator.cli.journal_reader import TolerantBlobs, fill_log, open_run_journal, read_state_tolerantly
from orchestrator.cli.output import add_file_option, print_document, select_forms, write_report_file
from orchestrator.cli.run_lookup import find_run_of_verb, find_state_directory, has_live_engine
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import TaskId
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.documents.ci_summary import render_step_summary
from orchestrator.report.documents.run_html import render_run_html
from orchestrator.report.documents.run_junit import render_run_junit
from orchestrator.report.documents.run_markdown import render_run_markdown
from orchestrator.report.documents.run_report import collect_run_report
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.documents.run_sarif import build_run_sarif
from orchestrator.report.judging.lens_accuracy import VoteLog
from orchestrator.report.judging.rendering import build_judging_report, render_judging_lines
from orchestrator.report.judging.totals import JudgingTotals
from orchestrator.report.task.details import get_task


@click.command("report")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--all", "is_all", is_flag=True, help="All runs of the repository together.")
@add_file_option("--html", "One page with everything: outcome, contract, timeline, tasks, verdicts, receipts, cost")
@add_file_option("--md", "The same in short, for an issue or a summary")
@add_file_option("--junit", "Outcome, contract, tasks and files as tests, for a CI service")
@add_file_option("--sarif", "What the judge found, by place, for a code scanning service")
@add_file_option("--summary", "The same for the summary page of a CI job, at most 1 MiB")
@add_file_option("--data", "All the facts of the report, as JSON")
@add_display_options
@common_options
def report_command(
    run: str | None, task: str | None, is_all: bool, repo: Path, state: str, as_json: bool, **files: Path | None
) -> None:
    """Write the report of RUN (the latest by default) to files, or print how it was judged.

    Without a file: verdicts and their causes, attempts, receipts and flaky tests, of all of it or of TASK with all
    below it; and for each reviewer how often a change that it approved was shown to be bad later, and how often one
    that it refused landed after all. These rates mean little without --all.

    \b
    orchestrate report
    orchestrate report 7f3a --html report.html
    orchestrate report --junit junit.xml --sarif judge.sarif --summary summary.md
    orchestrate report --md - | gh issue create --title Run --body-file -
    orchestrate report --all --json
    orchestrate report 7f3a storage
    """
    if is_all and run:
        raise UsageProblem("--all counts every run: name none with it")
    wanted = select_forms(files, as_json)
    if wanted and (is_all or task):
        raise UsageProblem(f"--{next(iter(wanted))} is of one whole run: leave --all and TASK out")
    if is_all:
        _print_judging(find_state_directory(repo, state).list_runs(), None, is_all, as_json)
        return
    directory = find_run_of_verb(run, repo, state)
    if wanted:
        _write_forms(directory, wanted)
    if as_json or not wanted:
        _print_judging([directory], TaskId(task) if task else None, is_all, as_json)


def _print_judging(runs: Sequence[RunDirectory], top: TaskId | None, is_all: bool, as_json: bool) -> None:
    """Print how runs were judged; a damaged one is counted as far as it can be read."""
    judging, problem = JudgingTotals(), None
    for directory in runs:
        try:
            _count_run(judging, directory, top)
        except JournalProblem as damage:
            problem = damage
        except UsageProblem:  # it stopped before its first event, or has no such task
            if not is_all:
                raise
    if problem and not judging.runs:
        raise problem
    print_document(build_judging_report(judging, top), render_judging_lines(judging), as_json)
    if problem:
        raise problem


def _write_forms(directory: RunDirectory, wanted: Mapping[str, Path]) -> None:
    """Write the forms of the report; a damaged journal is reported as far as it can be read."""
    with read_state_tolerantly(directory) as state:
        with open_run_journal(directory) as store:

            def of_kinds(kinds: Sequence[str]) -> Iterator[RecordedEvent]:
                with suppress(JournalProblem):  # `read_state_tolerantly` raises it at the end
                    yield from store.read_kinds(kinds)

            report = collect_run_report(
                state,
                directory.journal,
                of_kinds,
                TolerantBlobs(directory).get,
                is_at_work=has_live_engine(directory),
            )
        for form, path in wanted.items():
            write_report_file(path, _FORMS[form](report))


def _format_data(report: RunReport) -> str:
    return json.dumps(report.as_object(), ensure_ascii=False, indent=2) + "\n"


def _format_sarif(report: RunReport) -> str:
    return json.dumps(build_run_sarif(report, __version__).as_object(), ensure_ascii=False, indent=1) + "\n"


_FORMS: Mapping[str, Callable[[RunReport], str]] = {
    "html": render_run_html,
    "md": render_run_markdown,
    "summary": render_step_summary,
    "junit": render_run_junit,
    "sarif": _format_sarif,
    "data": _format_data,
}


def _count_run(judging: JudgingTotals, directory: RunDirectory, top: TaskId | None) -> None:
    """Count a run, or the readable part of a damaged one before the damage is raised."""
    with read_state_tolerantly(directory) as state:
        if top is not None:
            get_task(state, top)
        votes = VoteLog()
        fill_log(directory, votes)
        judging.add_run(state, votes, top)
