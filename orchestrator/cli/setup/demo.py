"""`orchestrate demo`."""

from functools import partial
from itertools import count
from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import json_option
from orchestrator.cli.output import exit_with, print_message, print_object
from orchestrator.cli.progress import choose_watcher
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
    directory_path = _make_directory(directory)
    with choose_watcher() as watcher:
        tell = (
            partial(run_demo_goal, directory_path, print_message)
            if kind == "goal"
            else partial(run_demo_migration, directory_path, offline, print_message)
        )
        result = anyio.run(tell, watcher)
    print_message("")
    where = format_location_options(result.project.root, str(directory_path / "state"))
    for text in (*render_summary_lines(result.ended.state, where), *_describe_outcome(result)):
        print_message(text)
    if as_json:
        print_object(build_run_result(result.ended.state, result.ended.directory.journal).as_object())
    is_good = result.is_as_expected and result.is_untouched
    exit_with(0 if is_good else result.ended.exit_code or 1)


def _make_directory(given: Path | None) -> Path:
    if given is not None and given.exists():
        raise click.BadParameter(f"{given} exists already: name a new directory", param_hint="--dir")
    directory = given or _choose_free_directory()
    try:
        directory.mkdir(parents=True)
        return directory.absolute()
    except OSError as error:
        location = f"in {error.filename} " if error.filename else ""
        raise EnvironmentProblem(
            f"no directory for the demo can be made {location}({error.strerror}): name another with --dir"
        ) from error


def _choose_free_directory() -> Path:
    for number in count():
        directory = Path(f"orchestrate-demo{number or ''}")
        if not directory.exists():
            break
    return directory


def _describe_outcome(result: DemoResult) -> list[str]:
    untouched = (
        "byte for byte as it was" if result.is_untouched else "CHANGED, which must never happen: please report it"
    )
    lines = [f"your checkout {result.project.root} is {untouched}"]
    if not result.is_as_expected and result.ended.error is None:
        lines.append("this is not the outcome that is known of this demo: please report it with the journal")
    return lines
