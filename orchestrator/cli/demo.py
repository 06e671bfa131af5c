"""`orchestrate demo`."""

from functools import partial
from itertools import count
from pathlib import Path

import anyio
import click

from orchestrator.cli.finding import whereabouts
from orchestrator.cli.options import as_json
from orchestrator.cli.output import print_object, say
from orchestrator.cli.progress import watching
from orchestrator.cli.running import exit_with
from orchestrator.demo.story import Told, goal, migration
from orchestrator.errors import EnvironmentProblem
from orchestrator.report.result import run_result
from orchestrator.report.summary import summary


@click.command("demo")
@click.option("--kind", type=click.Choice(["migrate", "goal"]), default="migrate", help="What to show.")
@click.option("--offline", is_flag=True, help="Use the bundled sample without asking a package index.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), help="A new directory to work in.")
@as_json
def command(kind: str, offline: bool, directory: Path | None, as_json: bool) -> None:
    """Show what Orchestrate does, without a model key, in a directory of its own.

    `migrate` (the default) fetches click 7.1.2 from your package index, migrates it with flynt, finds the one file that
    breaks 56 tests and lands the other 33. `goal` carries a small goal through planner, workers and judge with scripted
    models.

    \b
    orchestrate demo
    orchestrate demo --kind goal
    """
    place = _new_directory(directory)
    with watching() as watcher:
        tell = partial(goal, place, say) if kind == "goal" else partial(migration, place, offline, say)
        told = anyio.run(tell, watcher)
    say("")
    where = whereabouts(told.project.root, str(place / "state"))
    for text in (*summary(told.ended.state, where), *_after(told)):
        say(text)
    if as_json:
        print_object(run_result(told.ended.state, told.ended.directory.journal))
    is_good = told.is_as_known and told.is_untouched
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


def _after(told: Told) -> list[str]:
    untouched = "byte for byte as it was" if told.is_untouched else "CHANGED, which must never happen: please report it"
    lines = [f"your checkout {told.project.root} is {untouched}"]
    if not told.is_as_known and told.ended.error is None:
        lines.append("this is not the outcome that is known of this demo: please report it with the journal")
    return lines
