"""`orchestrate repair`."""

import click

from orchestrator.cli.documents import RepairDocument
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import pass_run_directory
from orchestrator.journal.damage.repair import RepairResult, describe_repair, repair_journal
from orchestrator.journal.locations.run_directory import RunDirectory


@click.command("repair")
@pass_run_directory
def repair_command(directory: RunDirectory, as_json: bool) -> None:
    """Make the damaged journal of RUN whole again (the latest run if not named), so that it can be resumed.

    The damaged file is kept aside and never deleted. The new journal holds every event before the first that is lost;
    those after it that can be read are set aside as text. What has landed is told by git.

    \b
    orchestrate repair
    orchestrate repair 7f3a --json
    """
    with directory.hold_lock():
        result = repair_journal(directory)
    findings = vars(result) if result else {}
    document = RepairDocument(run=directory.run, repaired=result is not None, **findings)
    print_document(document, _render_result(result, directory.run), as_json)


def _render_result(result: RepairResult | None, run: str) -> list[str]:
    if result is None:
        return [f"the journal of run {run} is sound: nothing was changed"]
    return [*describe_repair(result), f"go on with: orchestrate resume {run}"]
