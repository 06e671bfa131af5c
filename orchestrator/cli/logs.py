"""`orchestrate logs`."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import click

from orchestrator.cli.finding import is_live, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import as_text
from orchestrator.cli.reading import opened
from orchestrator.domain.event import Recorded, to_body
from orchestrator.errors import UsageProblem
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.store import Store
from orchestrator.report.lines import DETAIL, line

_POLL_S = 0.2


@click.command("logs")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on while a process works on the run.")
@click.option("--all", "everything", is_flag=True, help="Every event, also those that only tell of beginnings.")
@in_repository
@as_json
def command(
    run: str | None, task: str | None, follow: bool, everything: bool, repo: Path, state: str, as_json: bool
) -> None:
    """Print the events of RUN, or only those of TASK (in a migration: of a file), one a line.

    With --json each line is one JSON object.

    \b
    orchestrate logs
    orchestrate logs 7f3a storage/index --all
    orchestrate logs --follow
    """
    directory = state_directory(repo, state).find(run)
    is_known = task is None
    with opened(directory) as store:
        for recorded in _events(store, directory, follow):
            if task is not None and not _concerns(recorded, task):
                continue
            is_known = True
            if as_json:
                click.echo(_json_line(recorded))
            elif everything or recorded.event.kind not in DETAIL:
                click.echo(line(recorded))
    if not is_known:
        raise UsageProblem(f"nothing that happened in run {directory.run} is about {task!r}: see orchestrate status")


def _concerns(recorded: Recorded, name: str) -> bool:
    """Whether an event is about this task, or in a migration about this file."""
    event = recorded.event
    return name in (event.task, getattr(event, "path", None), getattr(event, "unit", None))


def _events(store: Store, directory: RunDirectory, follow: bool) -> Iterator[Recorded]:
    seq = 0
    while True:
        was_live = follow and is_live(directory)
        for recorded in store.read(after=seq):
            seq = recorded.seq
            yield recorded
        if not was_live:
            return
        time.sleep(_POLL_S)


def _json_line(recorded: Recorded) -> str:
    event = recorded.event
    head = {"seq": recorded.seq, "at": recorded.at.isoformat(), "kind": event.kind, "v": event.v}
    return as_text(head | json.loads(to_body(event)))
