"""`orchestrate label`."""

from pathlib import Path

import click

from orchestrator.cli.arguments import common_options, parse_labels
from orchestrator.cli.control.delivery import deliver_command, find_commanded_run
from orchestrator.cli.documents import CommandDocument
from orchestrator.cli.output import print_lines, print_object
from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run_labels import format_labels, get_run_labels
from orchestrator.run_control.control import RunLocation
from orchestrator.run_control.run_labels import build_label_command, record_ended_run


@click.command("label")
@click.argument("run")
@click.argument("labels", nargs=-1, required=True, metavar="NAME=VALUE…")
@common_options
def label_command(run: str, labels: tuple[str, ...], repo: Path, state: str, as_json: bool) -> None:
    """Set labels of RUN, by which `orchestrate runs --label` finds it; `NAME=` takes one away.

    A live run takes them at once, and so does one that has ended; one that stopped, when it goes on.

    \b
    orchestrate label 7f3a team=web ticket=ABC-12
    orchestrate label nightly ticket=
    """
    place, run_state = find_commanded_run(run, repo, state)
    command = build_label_command(run_state, parse_labels(labels))
    if run_state.ended is None or has_live_engine(place.directory):
        deliver_command(place, run_state, command, wake=False, as_json=as_json)
        return
    _print_labels(place, record_ended_run(place, run_state, command), as_json)


def _print_labels(place: RunLocation, state: RunState, as_json: bool) -> None:
    if as_json:
        key = next(reversed(state.taken_commands))
        document = CommandDocument(run=place.directory.run, key=key, do="configure", taken=True, refused="")
        print_object(document.as_object())
        return
    print_lines([f"labels of run {place.directory.run}: {' '.join(format_labels(get_run_labels(state))) or 'none'}"])
