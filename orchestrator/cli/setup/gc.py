"""`orchestrate gc` and `orchestrate repair`."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import common_options
from orchestrator.cli.documents import RepairDocument
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import pass_run_directory
from orchestrator.domain.text.listing import limit_lines
from orchestrator.journal.damage.repair import RepairResult, describe_repair, repair_journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.project.options import Options
from orchestrator.report.text.byte_sizes import format_size
from orchestrator.retention.garbage_collection import CollectionRequest, CollectionResult, collect_garbage
from orchestrator.retention.policy import KeptRun

_SHOWN = 8


@click.command("gc")
@click.option("--runs", "by_policy", is_flag=True, help="Also remove ended runs past [gc] keep_days and keep_runs.")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Also remove this run, and work of it not landed.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@common_options
def gc_command(runs: tuple[str, ...], by_policy: bool, dry_run: bool, repo: Path, state: str, as_json: bool) -> None:
    """Remove workspaces that nobody uses, and whole outputs and caches of runs that ended long ago.

    Runs themselves go with --runs, if they are past retention and nothing of them would be lost, or by name. What a run
    landed stays in git. A run that a process works on is never touched.

    \b
    orchestrate gc --dry-run
    orchestrate gc --runs
    orchestrate gc --run 20261120-101705-7f3a
    """
    options = Options(repo, Flags(state=state).values)
    removed = anyio.run(collect_garbage, options, CollectionRequest(runs, by_policy, dry_run))
    print_document(removed, _render_removed(removed), as_json)


def _render_removed(removed: CollectionResult) -> Iterator[str]:
    verb, freed = ("would remove", "would free") if removed.dry_run else ("removed", "freed")
    kinds = {
        "workspaces": removed.workspaces,
        "runs": removed.runs,
        "refs": removed.refs,
        "outputs": removed.logs,
        "caches": removed.caches,
        "dependencies": removed.deps,
        "receipts": range(removed.receipts),
        "stale locks": removed.locks,
    }
    counts = []
    for name, names in kinds.items():
        if names or name in {"workspaces", "runs", "refs"}:
            counts.append(f"{len(names)} {name}")
    yield f"{verb} {', '.join(counts)}; {freed} {format_size(removed.freed_bytes)}"
    for name in (*removed.workspaces, *removed.runs, *removed.locks):
        yield f"  {name}"
    for text in removed.locked:
        yield f"stays locked: {text}"
    for kept in removed.kept:
        yield from _render_kept_run(kept)


def _render_kept_run(kept: KeptRun) -> Iterator[str]:
    yield f"kept {kept.run}: {kept.why}"
    lines = []
    for work in kept.work:
        line = f"  {work.status} {work.name}"
        if work.status != "landed":
            line += f"  see it: orchestrate diff {kept.run} {work.name}"
        if work.commit:
            line += f"; keep it: git branch NAME {work.commit[:12]}"
        lines.append(line)
    yield from limit_lines(lines, _SHOWN, "  and {count} more")
    yield f"  remove it all the same: orchestrate gc --run {kept.run}"


@click.command("repair")
@pass_run_directory
def repair_command(directory: RunDirectory, as_json: bool) -> None:
    """Repair the damaged journal of RUN (the latest run by default), so that it can be resumed.

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
