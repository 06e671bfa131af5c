"""`orchestrate logs`."""

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from orchestrator.cli.finding import is_live, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import alarm, as_text, say
from orchestrator.cli.reading import opened
from orchestrator.domain.event import Recorded, to_body
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.errors import UsageProblem
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.store import Store
from orchestrator.report.lines import DETAIL, hit_line, line

_POLL_S = 0.05


@click.command("logs")
@click.argument("run", required=False)
@click.argument("task", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on while a process works on the run.")
@click.option("--all", "everything", is_flag=True, help="Every event, also those that only tell of beginnings.")
@click.option("--search", "query", metavar="QUERY", help='Only events that hold all these words; "a phrase", begin*.')
@click.option("--limit", type=click.IntRange(1), default=50, help="With --search: how many, the newest. [50]")
@in_repository
@as_json
def command(
    *,
    run: str | None,
    task: str | None,
    follow: bool,
    everything: bool,
    query: str | None,
    limit: int,
    repo: Path,
    state: str,
    as_json: bool,
) -> None:
    """Print the events of RUN, or only those of TASK (in a migration: of a file), one a line.

    With --json each line is one JSON object. --search looks at everything that was said and done, also in long outputs.

    \b
    orchestrate logs
    orchestrate logs 7f3a storage/index --all
    orchestrate logs --follow
    orchestrate logs --search '"connection refused" retr*'
    """
    directory = state_directory(repo, state).find(run)
    if query is not None:
        if follow:
            raise UsageProblem("--search and --follow do not go together")
        _search(directory, task, query, limit, as_json)
        return
    is_known = task is None
    with opened(directory) as store:
        _warn(store, as_json)
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


def _warn(store: Store, as_json: bool) -> None:
    """Of a run without a sandbox that is the first thing to know."""
    for first in islice(store.read(), 0 if as_json else 1):
        if isinstance(first.event, RunStarted) and first.event.settings.get("hands", {}).get("without_sandbox"):
            alarm(UNSAFE, err=False)


def _search(directory: RunDirectory, task: str | None, query: str, limit: int, as_json: bool) -> None:
    """Print what was found, oldest first, and then what could not be searched."""
    from orchestrator.journal.search import find

    hits, damage = find(directory.path, query, limit, task)
    for hit in reversed(hits):
        click.echo(as_text(hit._asdict() | {"at": hit.at.isoformat()}) if as_json else hit_line(hit))
    if not hits and not as_json:
        say(f"nothing in run {directory.run} holds all of these words")
    if damage:
        raise damage


def _concerns(recorded: Recorded, name: str) -> bool:
    """Whether an event is about this task, or in a migration about this file."""
    event = recorded.event
    return name in (event.task, getattr(event, "path", None), getattr(event, "unit", None))


def _events(store: Store, directory: RunDirectory, follow: bool) -> Iterator[Recorded]:
    seq, seen = 0, -1
    while True:
        was_live = follow and is_live(directory)
        changes = store.changes()
        if changes != seen or not was_live:
            for recorded in store.read(after=seq):
                seq = recorded.seq
                yield recorded
        seen = changes
        if not was_live:
            return
        time.sleep(_POLL_S)


def _json_line(recorded: Recorded) -> str:
    event = recorded.event
    head = {"seq": recorded.seq, "at": recorded.at.isoformat(), "kind": event.kind, "v": event.v}
    return as_text(head | json.loads(to_body(event)))
