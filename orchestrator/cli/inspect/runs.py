"""`orchestrate runs`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from orchestrator.cli.arguments import DIRECTORY, Duration, json_option, parse_labels
from orchestrator.cli.output import print_document, print_lines
from orchestrator.cli.run_lookup import find_state_directory, list_state_directories

if TYPE_CHECKING:
    from orchestrator.report.runs.model import RunEntry


class _RunsArguments(TypedDict):
    """The values of the options of `runs`."""

    repo: Path | None
    state: str
    words: tuple[str, ...]
    labels: tuple[str, ...]
    waiting: bool
    since: float | None
    limit: int
    quiet: bool
    as_json: bool


@click.command("runs")
@click.option("--repo", type=DIRECTORY, help="Only the runs of this repository.")
@click.option("--state", default="", metavar="DIR", help="Where journals and worktrees live.")
@click.option(
    "--is", "words", multiple=True, metavar="WORD", help="Only runs in this state, such as running or done; repeatable."
)
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Only runs with this label; repeatable.")
@click.option("--waiting", is_flag=True, help="Only runs that ask you something.")
@click.option("--since", type=Duration(), metavar="24h", help="Only runs that began within this time.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many, the latest.")
@click.option("-q", "--quiet", is_flag=True, help="Print only their ids.")
@json_option
def runs_command(**given: Unpack[_RunsArguments]) -> None:
    """List the runs of all repositories, the latest first: state, age, cost, and who waits for you.

    \b
    orchestrate runs
    orchestrate runs --waiting
    orchestrate runs --label team=web --is running --json
    """
    from orchestrator.discovery.all_runs import iterate_entries, list_all_runs
    from orchestrator.report.runs.model import RunsDocument
    from orchestrator.report.runs.rendering import render_runs_lines

    labels, now, found = parse_labels(given["labels"]), datetime.now(UTC), list["RunEntry"]()
    if given["repo"] is None:
        states = list_state_directories(given["state"])
    else:
        states = [find_state_directory(given["repo"], given["state"])]
    runs = list_all_runs(states)
    for entry in iterate_entries(runs):
        if len(found) == given["limit"]:
            break
        if _fits_filters(entry, given, labels, now):
            found.append(entry)
    if given["quiet"]:
        print_lines(entry.run for entry in found)
        return
    document = RunsDocument(total=len(runs), runs=tuple(found))
    print_document(document, render_runs_lines(found, len(runs), now), given["as_json"])


def print_waiting_runs(state: str, as_json: bool) -> None:
    """Print the runs of all repositories that ask something, with their questions."""
    from orchestrator.discovery.all_runs import iterate_entries, list_all_runs
    from orchestrator.report.runs.model import RunsDocument
    from orchestrator.report.runs.rendering import render_inbox_lines

    runs, found = list_all_runs(list_state_directories(state)), list["RunEntry"]()
    for entry in iterate_entries(runs):
        if entry.summary is not None and entry.summary.questions_open:
            found.append(entry)
    document = RunsDocument(total=len(runs), runs=tuple(found))
    lines = list(render_inbox_lines(found, datetime.now(UTC)))
    print_document(document, lines or ["no run asks anything"], as_json)


def _fits_filters(entry: "RunEntry", given: _RunsArguments, labels: dict[str, str], now: datetime) -> bool:
    """Return True if a run fits all filters; one that cannot be read fits those that ask nothing of it."""
    if given["words"] and entry.word not in given["words"]:
        return False
    summary = entry.summary
    if summary is None:
        return not (labels or given["waiting"] or given["since"])
    if given["since"] and now - summary.started_at > timedelta(seconds=given["since"]):
        return False
    return labels.items() <= summary.labels.items() and (summary.questions_open > 0 or not given["waiting"])
