"""`orchestrate migrate skip` and `retry`: what people say of files."""

from typing import Any

import click

from orchestrator.cli.control.commands import deliver_command, find_commanded_run
from orchestrator.cli.options import json_option, repository_options
from orchestrator.domain.commands.definitions import RetryFiles, SkipFiles
from orchestrator.run_control.migration_commands import FileSelection, resolve_tracked_paths, select_files

_NO_WAKE = click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")


@click.command("skip")
@click.argument("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--reason", required=True, help="Why; it is kept, and shown in reports and pull requests.")
@repository_options
@json_option
def skip_command(run: str, paths: tuple[str, ...], reason: str, **given: Any) -> None:  # noqa: ANN401
    """Leave files of RUN out. One that a step is at is left out when the step has ended; one that landed, never.

    \b
    orchestrate migrate skip latest vendor/six.py --reason "copied from upstream"
    """
    place, state = find_commanded_run(run, given)
    command = SkipFiles(files=resolve_tracked_paths(place, state, paths), reason=reason)
    deliver_command(place, state, command, wake=state.ended is not None, as_json=given["as_json"])


@click.command("retry")
@click.argument("run")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--failed", is_flag=True, help="All files that failed.")
@click.option("--reason", default="", metavar="TEXT", help="Failed files with TEXT in their reason.")
@click.option("--signature", default="", metavar="TEXT", help="Failed files with TEXT in their signature.")
@click.option("--shard", default="", metavar="SHARD", help="Files of SHARD that failed, were left out or taken back.")
@click.option("--note", default="", help="What models on the ladder are to know.")
@_NO_WAKE
@repository_options
@json_option
def retry_command(
    run: str,
    paths: tuple[str, ...],
    failed: bool,
    reason: str,
    signature: str,
    shard: str,
    note: str,
    no_wake: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Let files of RUN climb the ladder again from its first rung; an ended run is opened again.

    \b
    orchestrate migrate retry latest --failed
    orchestrate migrate retry 7f3a --signature "has no attribute 'exception'" --note "use .value"
    """
    place, state = find_commanded_run(run, given)
    files = select_files(place, state, FileSelection(paths, failed, reason, signature, shard))
    deliver_command(place, state, RetryFiles(files=files, note=note), wake=not no_wake, as_json=given["as_json"])
