"""`orchestrate gc`."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator.app.gc import collect
from orchestrator.app.options import Options
from orchestrator.cli.options import as_json, in_repository
from orchestrator.cli.output import print_lines, print_object
from orchestrator.config.values import nest


@click.command("gc")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Also remove this run: journal, candidates, logs.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@in_repository
@as_json
def command(runs: tuple[str, ...], dry_run: bool, repo: Path, state: str, as_json: bool) -> None:
    """Remove workspaces that nobody uses. A run goes only if it is named; what it landed stays in git.

    \b
    orchestrate gc --dry-run
    orchestrate gc --run 20261120-101705-7f3a
    """
    flags: dict[str, Any] = {}
    if state:
        nest(flags, ("state", "dir"), state)
    gone = anyio.run(partial(collect, Options(repo, flags), runs, dry_run))
    if as_json:
        print_object({"schema": "orchestrate.gc/1", "dry_run": dry_run} | vars(gone))
        return
    verb = "would remove" if dry_run else "removed"
    names = [f"  {name}" for name in (*gone.workspaces, *gone.runs)]
    print_lines([f"{verb} {len(gone.workspaces)} workspaces, {len(gone.runs)} runs, {len(gone.refs)} refs", *names])
