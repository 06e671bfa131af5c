"""`orchestrate cost`."""

import click

from orchestrator.cli.journal_reader import open_run_journal, read_state_tolerantly
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import pass_run_directory
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.cost.breakdown import RefusedPlanLog, build_cost_breakdown
from orchestrator.report.cost.rendering import build_cost_report, render_cost_lines


@click.command("cost")
@add_display_options
@pass_run_directory
def cost_command(directory: RunDirectory, as_json: bool) -> None:
    """Show what RUN cost (the latest run by default): by task, role, model and attempt, and what was wasted.

    A price that is not known is shown as unknown.

    \b
    orchestrate cost
    orchestrate cost 7f3a --json
    """
    with read_state_tolerantly(directory) as found:
        refused = RefusedPlanLog()
        with open_run_journal(directory) as store:
            refused.record_events(store.read_kinds(RefusedPlanLog.KINDS))
        cost = build_cost_breakdown(found, refused)
        print_document(build_cost_report(found, cost), render_cost_lines(found, cost), as_json)
