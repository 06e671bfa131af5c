"""`orchestrate hosts status`."""

from datetime import UTC, datetime

import click

from orchestrator.cli.journal_reader import read_state_tolerantly
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import has_live_engine, pass_run_directory
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.hosts.model import HostsDocument
from orchestrator.report.hosts.rendering import render_hosts_lines
from orchestrator.report.hosts.summary import build_hosts_summary


@click.command("status")
@pass_run_directory
def status_command(directory: RunDirectory, as_json: bool) -> None:
    """Show the hosts of RUN (the latest run by default): state, slots, losses, and what is open there.

    A host is ready, cordoned, draining, drained, lost or refused, or it left with its engine.

    \b
    orchestrate hosts status
    orchestrate hosts status 7f3a --json
    """
    is_live = has_live_engine(directory)
    with read_state_tolerantly(directory) as state:
        summary = build_hosts_summary(state, is_live)
        document = HostsDocument(run=state.run.run, is_live=is_live, **dict(summary))
        lines = render_hosts_lines(summary, datetime.now(UTC))
        if not summary.hosts:
            lines = iter([f"no host has joined run {state.run.run}: all of it runs on this machine"])
        print_document(document, lines, as_json)
