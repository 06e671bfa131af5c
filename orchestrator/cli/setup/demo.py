"""`orchestrate demo`."""

from functools import partial
from itertools import count
from pathlib import Path

import anyio
import click

from orchestrator.cli.options import json_option
from orchestrator.cli.output import print_message, print_object
from orchestrator.cli.progress import choose_watcher
from orchestrator.cli.run_lifecycle import exit_with
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.demo.runs import DemoResult, run_demo_goal, run_demo_migration
from orchestrator.errors import EnvironmentProblem
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines


@click.command("demo")
@click.option("--kind", type=click.Choice(["migrate", "goal"]), default="migrate", help="What to show.")
@click.option("--offline", is_flag=True, help="Use the bundled sample without asking a package index.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), help="A new directory to work in.")
@json_option
def demo_command(kind: str, offline: bool, directory: Path | None, as_json: bool) -> None:
    """Show what Orchestrate does, without a model key, in a directory of its own.

    `migrate` (the default) fetches click 7.1.2 from your package index, migrates it with flynt, finds the one file that
    breaks 56 tests and lands the other 33. `goal` carries a small goal through planner, workers and judge with scripted
    models.

    \b
    orchestrate demo
    orchestrate demo --kind goal
    """
    place = _new_directory(directory)
    with choose_watcher() as watcher:
        tell = (
            partial(run_demo_goal, place, print_message)
            if kind == "goal"
            else partial(run_demo_migration, place, offline, print_message)
        )
        told = anyio.run(tell, watcher)
    print_message("")
    where = format_location_options(told.project.root, str(place / "state"))
    for text in (*render_summary_lines(told.ended.state, where), *_after(told)):
        print_message(text)
    if as_json:
        print_object(build_run_result(told.ended.state, told.ended.directory.journal).as_object())
    is_good = told.is_as_expected and told.is_untouched
    exit_with(0 if is_good else told.ended.exit_code or 1)


def _new_directory(given: Path | None) -> Path:
    candidates = [given] if given else (Path(f"orchestrate-demo{n or ''}") for n in count())
    place = next((path for path in candidates if not path.exists()), None)
    if place is None:
        raise click.BadParameter(f"{given} exists already: name a new directory", param_hint="--dir")
    try:
        place.mkdir(parents=True)
        return place.absolute()
    except OSError as error:
        at = f"in {error.filename} " if error.filename else ""
        raise EnvironmentProblem(
            f"no directory for the demo can be made {at}({error.strerror}): name another with --dir"
        ) from error


def _after(told: DemoResult) -> list[str]:
    untouched = "byte for byte as it was" if told.is_untouched else "CHANGED, which must never happen: please report it"
    lines = [f"your checkout {told.project.root} is {untouched}"]
    if not told.is_as_expected and told.ended.error is None:
        lines.append("this is not the outcome that is known of this demo: please report it with the journal")
    return lines
