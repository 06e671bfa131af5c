"""`orchestrate migrate run --dry-run`."""

from pathlib import Path
from typing import Any

import anyio

from orchestrator.app.dry_run import DryWishes, dry_run
from orchestrator.app.options import Options
from orchestrator.app.recipe_trust import load_recipe_to_run
from orchestrator.cli.output import alarm, print_lines, print_object
from orchestrator.cli.progress import Watching, watching
from orchestrator.cli.running import failing_as_object
from orchestrator.cli.writing import write_out
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.errors import UsageProblem
from orchestrator.migrate.asked import Asked
from orchestrator.migrate.recipe import located
from orchestrator.report.dry_run import dry_run_lines, dry_run_md

_STDOUT = Path("-")


def try_out(options: Options, recipe: Path, asked: Asked, given: dict[str, Any]) -> int:
    """Try a recipe and say what came of it; the exit code.

    Raises:
        UsageProblem: the options contradict each other.
        OrchestrateError: it had to stop.
    """
    place: Path | None = given["report"]
    with failing_as_object(given["as_json"]):
        if given["detach"]:
            raise UsageProblem("--detach and --dry-run: a dry run leaves nothing that could go on; drop one of them")
        if place == _STDOUT and given["as_json"]:
            raise UsageProblem("--json and --report - both go to standard output: name a file for the report")
        wishes = DryWishes(asked, verify=given["verify"], diff=given["diff"])
        report = _tried(options, recipe, wishes)
        if place is not None:
            write_out(place, dry_run_md(report))
    if report["unsafe"]:
        alarm(UNSAFE)
    if given["as_json"]:
        print_object(report)
    elif place != _STDOUT:
        print_lines(dry_run_lines(report))
    code: int = report["exit"]
    return code


def _tried(options: Options, recipe: Path, wishes: DryWishes) -> dict[str, Any]:
    async def work(watcher: Watching) -> dict[str, Any]:
        return await dry_run(options, load_recipe_to_run(options, recipe), wishes, watcher)

    with watching() as watcher, located(recipe):
        return anyio.run(work, watcher)
