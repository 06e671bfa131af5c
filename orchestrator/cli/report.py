"""`orchestrate report`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from orchestrator import __version__
from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.reading import TolerantBlobs, opened, state_of
from orchestrator.cli.writing import into, wanted_forms, write_out
from orchestrator.domain.event import Recorded
from orchestrator.domain.ids import TaskId
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.runs import RunDirectory
from orchestrator.report.ci_summary import step_summary
from orchestrator.report.judging import Judging
from orchestrator.report.judging_view import judging_lines, judging_object
from orchestrator.report.junit import junit
from orchestrator.report.lenses import VoteLog
from orchestrator.report.run_html import run_html
from orchestrator.report.run_md import run_md
from orchestrator.report.run_report import report_of
from orchestrator.report.run_sarif import run_sarif
from orchestrator.report.task import find_task


@click.command("report")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--all", "is_all", is_flag=True, help="All runs of the repository together.")
@into("--html", "One page with all of the run: contract, timeline, tasks, verdicts, receipts, cost")
@into("--md", "The same in short, for an issue or a summary")
@into("--junit", "Its outcome, contract, tasks and files as tests, for a CI service")
@into("--sarif", "What the judge found, by place, for a code scanning service")
@into("--summary", "The same for the page of a CI job, at most 1 MiB")
@into("--data", "What all of these are made of, as JSON")
@in_repository
@as_json
def command(
    run: str | None, task: str | None, is_all: bool, repo: Path, state: str, as_json: bool, **files: Path | None
) -> None:
    """Report on RUN (the latest if not named): a page of all of it, or how it, or TASK with all below it, was judged.

    Without a form: verdicts and their causes, attempts, receipts, flaky tests; and for each reviewer
    how often what it approved was shown to be bad later, and how often what it refused landed after all. Rates need
    --all to mean much.

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
    wanted = wanted_forms(files, as_json)
    if wanted and (is_all or task):
        raise UsageProblem(f"--{next(iter(wanted))} is of one whole run: leave --all and TASK out")
    found = state_directory(repo, state)
    if wanted:
        _write(found.find(run), wanted)
    if as_json or not wanted:
        _show(found.runs() if is_all else [found.find(run)], TaskId(task) if task else None, is_all, as_json)


def _show(runs: Sequence[RunDirectory], top: TaskId | None, is_all: bool, as_json: bool) -> None:
    """How runs were judged; of a damaged one as far as it can be read."""
    judging, problem = Judging(), None
    for directory in runs:
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


def _write(directory: RunDirectory, wanted: Mapping[str, Path]) -> None:
    """Write the forms of the report, of a damaged journal as far as it can be read."""
    with state_of(directory) as state:
        with opened(directory) as store:

            def of_kinds(kinds: Sequence[str]) -> Iterator[Recorded]:
                with suppress(JournalProblem):  # `state_of` tells of it at the end
                    yield from store.of_kinds(kinds)

            report = report_of(state, directory.journal, of_kinds, TolerantBlobs(directory).get)
        for form, path in wanted.items():
            write_out(path, _FORMS[form](report))


def _data(report: Mapping[str, Any]) -> str:
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def _sarif(report: Mapping[str, Any]) -> str:
    return json.dumps(run_sarif(report, __version__), ensure_ascii=False, indent=1) + "\n"


_FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "html": run_html,
    "md": run_md,
    "summary": step_summary,
    "junit": junit,
    "sarif": _sarif,
    "data": _data,
}


def _count(judging: Judging, directory: RunDirectory, top: TaskId | None) -> None:
    """Count a run, or what can be read of it before that is told."""
    with state_of(directory) as state:
        if top is not None:
            find_task(state, top)
        votes = VoteLog()
        with opened(directory) as store, suppress(JournalProblem):  # `state_of` tells of it at the end
            votes.watch(store.of_kinds(VoteLog.KINDS))
        judging.add(state, votes, top)
