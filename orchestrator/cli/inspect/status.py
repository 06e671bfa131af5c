"""`orchestrate status`."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.output import print_lines, print_object, warn_if_unsafe
from orchestrator.cli.run_lookup import has_live_engine, pass_run_directory
from orchestrator.cli.terminal.choices import add_color_option, wants_colour
from orchestrator.journal.locations.disk_usage import measure_disk_usage
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.projection import read_projection

if TYPE_CHECKING:
    from orchestrator.domain.ids import SessionId
    from orchestrator.domain.run.state import RunState
    from orchestrator.journal.storage.event_reader import EventReader
    from orchestrator.report.cost.model import EarlierCosts
    from orchestrator.report.log.last_event import LastSessionEvent
    from orchestrator.report.migration.burndown_text import BurndownGlyphs
    from orchestrator.report.run.model import RunStatus

_FRESH_S = 2.0


@click.command("status")
@click.option("--filter", "wanted", metavar="EXPR", help="Show who is at work, waits or asks, as far as EXPR fits.")
@add_color_option
@pass_run_directory
def status_command(directory: RunDirectory, wanted: str | None, as_json: bool) -> None:
    """Show where RUN stands (the latest run by default).

    EXPR is what the dashboard's `/` takes: words and KEY:VALUE, all of which must fit. A comma means or, a minus
    before a term not; numbers are compared as in cost:>1. KEY is state, role, task, model, cost and others; states are
    ask, stall, fail, review, landing, testing, think, "at work", retry, pause, "to do", stop and done.

    \b
    orchestrate status
    orchestrate status 7f3a --json
    orchestrate status latest --filter "state:ask,stall role:worker"
    """
    if wanted is not None:
        _print_fleet(directory, wanted, as_json)
        return
    if as_json:
        print_status_object(directory)
        return
    with read_status(directory) as status:
        print_status(status)


def print_status(status: "RunStatus", *glyphs: "BurndownGlyphs") -> None:
    """Print a status for a person."""
    from orchestrator.cli.terminal.painting import paint_status
    from orchestrator.report.run.status_text import render_status_lines

    warn_if_unsafe(status.unsafe, err=False)
    click.echo("\n".join(paint_status(render_status_lines(status, *glyphs))), color=wants_colour(sys.stdout))


def _print_fleet(directory: RunDirectory, wanted: str, as_json: bool) -> None:
    """Print the rows of the fleet that fit a filter, with how many there are in all; as JSON within the status."""
    from orchestrator.cli.journal_reader import open_run_journal, read_state_tolerantly
    from orchestrator.report.rows.agent_row import AGENT_KEYS
    from orchestrator.report.rows.fleet import build_fleet_rows, render_fleet_lines
    from orchestrator.report.rows.row_filter import parse_filter

    fits = parse_filter(wanted, AGENT_KEYS).matches_row
    with read_state_tolerantly(directory) as state:
        with open_run_journal(directory) as store:
            seen = collect_last_seen(state, store)
        rows = build_fleet_rows(state, seen, datetime.now(UTC), is_at_work=has_live_engine(directory))
        found = [row for row in rows if fits(row.get_filter_values())]
        if not as_json:
            print_lines(render_fleet_lines(found, len(rows)))
            return
        with read_status(directory) as status:
            entries = tuple(row.build_entry() for row in found)
            from orchestrator.domain.frozen_model import copy_with_changes

            shown = copy_with_changes(status, filter=wanted, fleet=entries, fleet_of=len(rows))
            print_object(shown.as_object())


def collect_last_seen(state: "RunState", store: "EventReader") -> dict["SessionId", "LastSessionEvent"]:
    """Return the last event of each conversation that has not ended."""
    from orchestrator.report.log.last_event import EVENTS_TO_READ, find_last_session_event

    found = {}
    for session in state.sessions.values():
        if session.ended is None:
            last = find_last_session_event(store.read_session_part(session.session, last=EVENTS_TO_READ))
            if last is not None:
                found[session.session] = last
    return found


@contextmanager
def read_status(directory: RunDirectory) -> Iterator["RunStatus"]:
    """Yield the engine's own projection if it is current, or fresh enough while it works; else derive the status."""
    from pydantic import ValidationError

    from orchestrator.report.run.model import DiskSizes, RunStatus

    status = None
    with suppress(ValidationError):  # there is none, or another version of the program wrote it
        status = RunStatus.model_validate(_read_stored_status(directory))
    if status is not None:
        yield status
        return
    from orchestrator.cli.journal_reader import read_state_tolerantly
    from orchestrator.report.run.result import build_status

    with read_state_tolerantly(directory) as state:
        disk = DiskSizes.model_validate(_measure_disk(directory))
        is_live = has_live_engine(directory)
        status = build_status(state, directory.journal, is_live)
        from orchestrator.domain.frozen_model import copy_with_changes

        earlier = _find_earlier_costs(directory, status.mode, status.unlimited, status.outcome)
        yield copy_with_changes(status, is_live=is_live, disk=disk, earlier=earlier)


def print_status_object(directory: RunDirectory, require_mode: Callable[[str, str], None] | None = None) -> None:
    """Print the status as JSON; what the engine stored stays as it is, which takes half the time of parsing it.

    `require_mode` refuses the mode of a run, by its id.
    """
    stored = _read_stored_status(directory)
    if stored is not None:
        if require_mode:
            require_mode(stored["mode"], stored["run"])
        print_object(stored)
        return
    with read_status(directory) as status:
        if require_mode:
            require_mode(status.mode, status.run)
        print_object(status.as_object())


def _read_stored_status(directory: RunDirectory) -> dict[str, Any] | None:
    """Return the engine's projection with what only a reader can measure; None if it is out of date."""
    is_live = has_live_engine(directory)
    stored = read_projection(directory.journal, "status")
    if stored is None or not (stored.is_current or (is_live and stored.age_s < _FRESH_S)):
        return None
    status = json.loads(stored.body)
    is_old = "condition" not in status or (status["mode"] == "migration" and "burndown" not in status)
    if is_old:  # an earlier version of the program wrote it
        return None
    if not is_live and status["exit"] is None:
        return None  # the engine that wrote it is gone, and it says that the run is running
    found = _find_earlier_costs(directory, status["mode"], status.get("unlimited", False), status["outcome"])
    earlier = found.as_object() if found else None
    return {**status, "is_live": is_live, "disk": _measure_disk(directory), "earlier": earlier}


def _find_earlier_costs(directory: RunDirectory, mode: str, is_unlimited: bool, outcome: str) -> "EarlierCosts | None":
    """Return what other runs cost, for a run that nothing bounds and that has not ended."""
    if not is_unlimited or outcome not in {"running", "paused"}:
        return None
    from orchestrator.discovery.earlier_costs import collect_earlier_costs

    return collect_earlier_costs(StateDirectory(directory.path.parent.parent), mode, directory.run)


def _measure_disk(directory: RunDirectory) -> dict[str, int | bool]:
    return measure_disk_usage(directory.path.parent.parent).as_object()
