"""`orchestrate status`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.finding import is_live, state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import alarm, print_lines, print_object
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.journal.disk import disk_use
from orchestrator.journal.projection import read_projection
from orchestrator.journal.runs import RunDirectory

if TYPE_CHECKING:
    from orchestrator.domain.ids import SessionId
    from orchestrator.domain.state import RunState
    from orchestrator.journal.reader import Reader
    from orchestrator.report.seen import Seen

_FRESH_S = 2.0


@click.command("status")
@click.argument("run", required=False)
@click.option("--filter", "wanted", metavar="EXPR", help="Show who is at work, waits or asks, as far as EXPR fits.")
@in_repository
@as_json
def command(run: str | None, wanted: str | None, repo: Path, state: str, as_json: bool) -> None:
    """Show where RUN stands (the latest run if not named; part of an id is enough).

    EXPR is what the dashboard's `/` takes: words and KEY:VALUE, all of which must fit. A comma means or, a minus
    before a term not; numbers are compared as in cost:>1. KEY is state, role, task, model, cost and others; states are
    ask, stall, fail, judge, merge, test, think, run, retry, pause, queue, stop and done.

    \b
    orchestrate status
    orchestrate status 7f3a --json
    orchestrate status latest --filter "state:ask,stall role:worker"
    """
    if wanted is not None:
        _print_fleet(state_directory(repo, state).find(run), wanted, as_json)
        return
    with status_of(state_directory(repo, state).find(run)) as status:
        if as_json:
            print_object(status)
            return
        from orchestrator.report.status_text import status_text

        if status.get("unsafe"):
            alarm(UNSAFE, err=False)
        print_lines(status_text(status))


def _print_fleet(directory: RunDirectory, wanted: str, as_json: bool) -> None:
    """The rows of the fleet that fit a filter, with how many there are in all; as data beside the whole status."""
    from orchestrator.cli.reading import opened, state_of
    from orchestrator.report.agent_row import FIELDS
    from orchestrator.report.filtering import filter_of
    from orchestrator.report.fleet import fleet, fleet_lines

    fits = filter_of(wanted, FIELDS).fits
    with state_of(directory) as state:
        with opened(directory) as store:
            seen = last_seen(state, store)
        rows = fleet(state, seen, datetime.now(UTC), is_at_work=is_live(directory))
        found = [row for row in rows if fits(row.fields())]
        if not as_json:
            print_lines(fleet_lines(found, len(rows)))
            return
        with status_of(directory) as status:
            print_object(
                status | {"filter": wanted, "fleet": [row.as_object() for row in found], "fleet_of": len(rows)}
            )


def last_seen(state: "RunState", store: "Reader") -> dict["SessionId", "Seen"]:
    """The last that was heard of each conversation that has not ended, from the journal."""
    from orchestrator.report.seen import LOOKED_AT, seen_of

    open_ones = (session.session for session in state.sessions.values() if session.ended is None)
    found = {session: seen_of(store.part(session, last=LOOKED_AT)) for session in open_ones}
    return {session: seen for session, seen in found.items() if seen is not None}


@contextmanager
def status_of(directory: RunDirectory) -> Iterator[dict[str, Any]]:
    """The engine's own projection if it is current, or fresh enough while it works; else derived from the events."""
    found = {"is_live": is_live(directory), "disk": disk_use(directory.path.parent.parent).as_object()}
    kept = read_projection(directory.journal, "status")
    if kept and (kept.is_current or (found["is_live"] and kept.age_s < _FRESH_S)):
        known = json.loads(kept.body)
        if known["mode"] != "migration" or "burndown" in known:  # an older program knew no burndown
            yield known | found
            return
    from orchestrator.cli.reading import state_of
    from orchestrator.report.status import status_object

    with state_of(directory) as state:
        yield status_object(state, directory.journal) | found
