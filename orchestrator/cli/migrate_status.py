"""`orchestrate migrate status`."""

import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from orchestrator.cli.finding import state_directory
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import alarm, print_lines, print_object
from orchestrator.cli.status import status_of
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.runs import RunDirectory

if TYPE_CHECKING:
    from orchestrator.report.burndown_text import Glyphs

_EVERY_S = 2.0
_ALL = 10_000
_BY = ("owner", "dir", "rung", "reason", "shard")


@click.command("status")
@click.argument("run", required=False)
@click.argument("path", required=False)
@click.option("--by", type=click.Choice(_BY), help="A table of all owners, directories, steps, reasons or shards.")
@click.option("--watch", is_flag=True, help="Show it again and again until the run stops.")
@in_repository
@as_json
def command(
    run: str | None, path: str | None, by: str | None, watch: bool, repo: Path, state: str, as_json: bool
) -> None:
    """Show how far the migration RUN is (the latest if not named), or one file or shard of it.

    Sites and files over time, who is behind, what fails alike, when it will be through. With PATH: every site of that
    file, what was tried on it, why it did not land or in which commit it did.

    \b
    orchestrate migrate status
    orchestrate migrate status latest --by owner
    orchestrate migrate status 7f3a tests/test_app.py --json
    """
    directory = state_directory(repo, state).find(run)
    if sum((by is not None, path is not None, watch)) > 1:
        raise UsageProblem("PATH, --by and --watch exclude each other")
    if watch:
        _watch(directory, as_json)
    elif path is not None:
        _show_one(directory, path, as_json)
    elif by is not None:
        _show_groups(directory, by, as_json)
    else:
        with status_of(directory) as status:
            _show(status, as_json)


def _show(status: Mapping[str, Any], as_json: bool) -> None:
    _require_migration(status["mode"], status["run"])
    if as_json:
        print_object(status)
        return
    from orchestrator.report.status_text import status_text

    if status.get("unsafe"):
        alarm(UNSAFE, err=False)
    print_lines(status_text(status, glyphs()))


def _require_migration(mode: str, run: str) -> None:
    if mode != "migration":
        raise UsageProblem(f"run {run} is no migration: orchestrate status {run}")


def _show_one(directory: RunDirectory, path: str, as_json: bool) -> None:
    from orchestrator.cli.reading import opened, state_of
    from orchestrator.domain.migration import Shard
    from orchestrator.report.migration_file import MoveLog, find, place_lines, place_object, shard_lines, shard_object

    with state_of(directory) as found:
        _require_migration(found.run.mode, found.run.run)
        one, log = find(found, path), MoveLog(path)
        if isinstance(one, Shard):
            shard = shard_object(found, one)
            _print(shard, shard_lines(shard), as_json)
            return
        with opened(directory) as store, suppress(JournalProblem):  # `state_of` tells of it at the end
            log.watch(store.of_kinds(MoveLog.KINDS))
        place = place_object(found, one, log)
        _print(place, place_lines(place), as_json)


def _show_groups(directory: RunDirectory, by: str, as_json: bool) -> None:
    from orchestrator.cli.reading import state_of
    from orchestrator.report.burndown import group_objects
    from orchestrator.report.burndown_text import group_table
    from orchestrator.report.groups import By

    wanted = next(one for one in get_args(By) if one == by)
    with state_of(directory) as found:
        _require_migration(found.run.mode, found.run.run)
        groups = group_objects(found, wanted)
        told = {"schema": "orchestrate.migration-groups/1", "run": found.run.run, "by": by, "groups": groups}
        _print(told, group_table(by, groups, glyphs(), _ALL), as_json)


def _print(value: dict[str, Any], lines: Iterable[str], as_json: bool) -> None:
    if as_json:
        print_object(value)
    else:
        print_lines(lines)


def _watch(directory: RunDirectory, as_json: bool) -> None:
    """On a terminal the whole status anew each time; else a line, or an object, whenever something has changed."""
    seen = -1
    while True:
        with status_of(directory) as status:
            if status["seq"] != seen:
                _show_change(status, as_json)
            seen, is_over = status["seq"], status["exit"] is not None or not status["is_live"]
        if is_over:
            return
        time.sleep(_EVERY_S)


def _show_change(status: Mapping[str, Any], as_json: bool) -> None:
    from orchestrator.report.burndown_text import headline

    _require_migration(status["mode"], status["run"])
    if as_json or not sys.stdout.isatty():
        _print(dict(status), (f"{status['outcome']}  {headline(status['burndown'], glyphs())}",), as_json)
    else:
        click.clear()
        _show(status, as_json=False)


def glyphs() -> "Glyphs":
    """Those that standard output can show."""
    from orchestrator.report.burndown_text import ASCII, USUAL

    try:
        "▁▂▃▄▅▆▇█…✗".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return USUAL
