"""`orchestrate logs`."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import click

from orchestrator.cli.arguments import json_option
from orchestrator.cli.documents import EventLine, HitLine
from orchestrator.cli.journal_reader import open_run_journal
from orchestrator.cli.output import format_json, print_message, warn_if_unsafe
from orchestrator.cli.run_lookup import has_live_engine, pass_run_target
from orchestrator.cli.terminal.choices import add_display_options, wants_colour
from orchestrator.cli.terminal.pager import print_pages
from orchestrator.cli.terminal.painting import paint_log_line
from orchestrator.discovery.run_targets import RunTarget, read_partial_state
from orchestrator.domain.event import RecordedEvent, format_event_body
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.ids import QuestionId, RunId
from orchestrator.domain.traces.span_names import name_event_span
from orchestrator.domain.traces.trace_ids import build_span_id, build_trace_id
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.ports.journal_search import SearchHit
from orchestrator.report.log.event_lines import DETAIL_KINDS, render_event_line, render_hit_line
from orchestrator.report.rows.question_targets import get_target_task

_POLL_S = 0.05


@click.command("logs")
@click.option("--follow", "-f", is_flag=True, help="Go on while a process works on the run.")
@click.option("--all", "everything", is_flag=True, help="Every event, also those that only tell of beginnings.")
@click.option("--search", "query", metavar="QUERY", help='Only events that hold all these words; "a phrase", begin*.')
@click.option("--limit", type=click.IntRange(1), default=50, help="With --search: how many, the newest. [50]")
@pass_run_target
@add_display_options
@json_option
def logs_command(
    target: RunTarget,
    *,
    follow: bool,
    everything: bool,
    query: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print the events of RUN, or only those of TASK (in a migration: of a file), one a line.

    One word that is no run means a task, file or question of the latest run. With --json each line is one JSON
    object. --search looks at everything that was said and done, also in long outputs.

    \b
    orchestrate logs
    orchestrate logs storage/index
    orchestrate logs 7f3a storage/index --all
    orchestrate logs --follow
    orchestrate logs --search '"connection refused" retr*'
    """
    directory, task = target.directory, target.name
    if task is not None:
        task = get_target_task(read_partial_state(directory), task)
    if query is not None:
        if follow:
            raise UsageProblem("--search and --follow do not go together")
        _search(directory, task, query, limit, as_json)
        return
    with open_run_journal(directory) as store:
        _print_sandbox_alarm(store, as_json)
        question_ids: dict[str, QuestionId] = {}
        events = _number_questions(_iterate_events(store, directory, follow), question_ids)
        if task is not None:
            events = _select_events(events, task, directory)
        if as_json:
            for recorded in events:
                click.echo(_format_event(recorded, directory.run))
        else:
            _print_lines(_iterate_lines(events, everything, question_ids), follow)


def _print_lines(lines: Iterable[str], follow: bool) -> None:
    """Print lines as they come where the run is followed, else page by page."""
    if not follow:
        print_pages(lines)
        return
    for line in lines:
        click.echo(line, color=wants_colour(sys.stdout))


def _select_events(events: Iterable[RecordedEvent], name: str, directory: RunDirectory) -> Iterator[RecordedEvent]:
    """Yield the events about a task or file.

    Raises:
        UsageProblem: at the end, if there was none.
    """
    is_known = False
    for recorded in events:
        if _is_about(recorded, name):
            is_known = True
            yield recorded
    if not is_known:
        raise UsageProblem(f"nothing that happened in run {directory.run} is about {name!r}: see orchestrate status")


def _iterate_lines(
    events: Iterable[RecordedEvent], everything: bool, question_ids: Mapping[str, QuestionId]
) -> Iterator[str]:
    for recorded in events:
        if everything or recorded.event.kind not in DETAIL_KINDS:
            yield paint_log_line(render_event_line(recorded, question_ids))


def _print_sandbox_alarm(store: EventStore, as_json: bool) -> None:
    """Print an alarm first if the run has no sandbox."""
    for first in islice(store.read_events(), 0 if as_json else 1):
        if isinstance(first.event, RunStarted):
            warn_if_unsafe(first.event.settings.get("hands", {}).get("without_sandbox"), err=False)


def _search(directory: RunDirectory, task: str | None, query: str, limit: int, as_json: bool) -> None:
    """Print what was found, oldest first, then raise what could not be searched."""
    from orchestrator.journal.full_text.search import find_events

    hits, damage = find_events(directory.path, query, limit, task)
    for hit in reversed(hits):
        click.echo(_format_hit(hit) if as_json else render_hit_line(hit))
    if not hits and not as_json:
        print_message(f"nothing in run {directory.run} holds all of these words")
    if damage:
        raise damage


def _number_questions(events: Iterable[RecordedEvent], question_ids: dict[str, QuestionId]) -> Iterator[RecordedEvent]:
    """Yield the events, and give the next short name to each question; the events are all of the run's."""
    for recorded in events:
        if isinstance(recorded.event, ApprovalRequested):
            question_ids.setdefault(recorded.event.approval.item, QuestionId(len(question_ids) + 1))
        yield recorded


def _is_about(recorded: RecordedEvent, name: str) -> bool:
    """Return True if an event is about this task, or in a migration about this file."""
    event = recorded.event
    return name in (event.task, getattr(event, "path", None), getattr(event, "unit", None))


def _iterate_events(store: EventStore, directory: RunDirectory, follow: bool) -> Iterator[RecordedEvent]:
    seq, seen = 0, -1
    while True:
        was_live = follow and has_live_engine(directory)
        changes = store.read_data_version()
        if changes != seen or not was_live:
            for recorded in store.read_events(after=seq):
                seq = recorded.seq
                yield recorded
        seen = changes
        if not was_live:
            return
        time.sleep(_POLL_S)


def _format_event(recorded: RecordedEvent, run: RunId) -> str:
    event = recorded.event
    trace, span = build_trace_id(run), build_span_id(run, name_event_span(event))
    head = EventLine(
        seq=recorded.seq, at=recorded.at.isoformat(), kind=event.kind, v=event.v, trace_id=trace, span_id=span
    )
    return format_json(head.as_object() | json.loads(format_event_body(event)))


def _format_hit(hit: SearchHit) -> str:
    line = HitLine.model_validate(hit._asdict() | {"at": hit.at.isoformat()})
    return format_json(line.as_object())
