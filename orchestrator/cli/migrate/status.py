"""`orchestrate migrate status`."""

import sys
import time
from typing import TYPE_CHECKING, get_args

import click

from orchestrator.cli.inspect.status import print_status, print_status_object, read_status
from orchestrator.cli.output import print_document, print_lines, print_object
from orchestrator.cli.run_lookup import pass_run_directory
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory

if TYPE_CHECKING:
    from orchestrator.report.migration.burndown_text import BurndownGlyphs
    from orchestrator.report.run.model import RunStatus

_EVERY_S = 2.0
_ALL = 10_000
_BY = ("owner", "dir", "rung", "reason", "shard")


@click.command("status")
@click.option("--by", type=click.Choice(_BY), help="A table of all owners, directories, steps, reasons or shards.")
@click.option("--watch", is_flag=True, help="Show it again and again until the run stops.")
@add_display_options
@pass_run_directory
@click.argument("path", required=False)
def status_command(directory: RunDirectory, path: str | None, by: str | None, watch: bool, as_json: bool) -> None:
    """Show how far the migration RUN is (the latest by default), or one file or shard of it.

    Sites and files over time, who is behind, what fails alike, when it will be through. With PATH: every site of that
    file, what was tried on it, why it did not land or in which commit it did.

    \b
    orchestrate migrate status
    orchestrate migrate status latest --by owner
    orchestrate migrate status 7f3a tests/test_app.py --json
    """
    if sum((by is not None, path is not None, watch)) > 1:
        raise UsageProblem("PATH, --by and --watch exclude each other")
    if watch:
        _watch_status(directory, as_json)
    elif path is not None:
        _print_item(directory, path, as_json)
    elif by is not None:
        _print_groups(directory, by, as_json)
    elif as_json:
        print_status_object(directory, _require_migration)
    else:
        with read_status(directory) as status:
            _require_migration(status.mode, status.run)
            print_status(status, choose_glyphs())


def _require_migration(mode: str, run: str) -> None:
    if mode != "migration":
        raise UsageProblem(f"run {run} is no migration: orchestrate status {run}")


def _print_item(directory: RunDirectory, path: str, as_json: bool) -> None:
    from orchestrator.cli.journal_reader import fill_log, read_state_tolerantly
    from orchestrator.domain.migration.files import Shard
    from orchestrator.report.migration.file_details import (
        FileMoveLog,
        build_file_details,
        build_shard_details,
        find_file_or_shard,
        render_file_details,
        render_shard_details,
    )

    with read_state_tolerantly(directory) as state:
        _require_migration(state.run.mode, state.run.run)
        item, log = find_file_or_shard(state, path), FileMoveLog(path)
        if isinstance(item, Shard):
            shard = build_shard_details(state, item)
            print_document(shard, render_shard_details(shard), as_json)
            return
        fill_log(directory, log)
        details = build_file_details(state, item, log)
        print_document(details, render_file_details(details), as_json)


def _print_groups(directory: RunDirectory, by: str, as_json: bool) -> None:
    from orchestrator.cli.journal_reader import read_state_tolerantly
    from orchestrator.report.migration.burndown import build_group_summaries
    from orchestrator.report.migration.burndown_model import GroupKind, GroupsDocument
    from orchestrator.report.migration.burndown_text import render_group_table

    wanted = next(item for item in get_args(GroupKind) if item == by)
    with read_state_tolerantly(directory) as state:
        _require_migration(state.run.mode, state.run.run)
        groups = build_group_summaries(state, wanted)
        document = GroupsDocument(run=state.run.run, by=wanted, groups=tuple(groups))
        print_document(document, render_group_table(by, groups, choose_glyphs(), _ALL), as_json)


def _watch_status(directory: RunDirectory, as_json: bool) -> None:
    """Print the whole status anew each time on a terminal; else a line, or an object, after each change."""
    last_seq = -1
    while True:
        with read_status(directory) as status:
            if status.seq != last_seq:
                _print_change(status, as_json)
            last_seq, is_over = status.seq, status.exit is not None or not status.is_live
        if is_over:
            return
        time.sleep(_EVERY_S)


def _print_change(status: "RunStatus", as_json: bool) -> None:
    from orchestrator.report.migration.burndown_text import render_burndown_headline

    _require_migration(status.mode, status.run)
    if as_json:
        print_object(status.as_object())
    elif status.burndown is not None and not sys.stdout.isatty():
        headline = render_burndown_headline(status.burndown, choose_glyphs())
        print_lines([f"{status.condition.word}  {headline}"])
    else:
        click.clear()
        print_status(status, choose_glyphs())


def choose_glyphs() -> "BurndownGlyphs":
    """Return the glyphs that standard output can show."""
    from orchestrator.report.migration.burndown_text import ASCII_GLYPHS, UNICODE_GLYPHS

    try:
        "▁▂▃▄▅▆▇█…✗".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII_GLYPHS
    return UNICODE_GLYPHS
