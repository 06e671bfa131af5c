"""`orchestrate watch`."""

import os
import shlex
from pathlib import Path
from typing import NoReturn, TypedDict, Unpack

import click

from orchestrator.cli.arguments import FILE, repository_options
from orchestrator.cli.output import exit_with
from orchestrator.cli.run_lookup import (
    find_state_directory,
    format_location_options,
    is_in_project,
    locate_named_run,
)
from orchestrator.errors import UsageProblem


class WatchArguments(TypedDict):
    """The values of the options of `watch`, but for those that name the run."""

    is_of_all: bool
    read_only: bool
    plain: bool
    is_ascii: bool
    no_mouse: bool
    no_animations: bool
    replay: bool
    speed: float | None
    film: Path | None
    web: bool
    port: int
    allow_actions: bool


@click.command("watch")
@click.argument("run", required=False)
@click.option("--all", "is_of_all", is_flag=True, help="List the runs of all repositories; `enter` opens one.")
@click.option("--read-only", is_flag=True, help="Only look: no key acts on the run.")
@click.option("--plain", is_flag=True, help="Print lines instead; the default without a terminal and in CI.")
@click.option("--ascii", "is_ascii", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, for selecting text.")
@click.option("--no-animations", is_flag=True, help="Show no animations; the default over SSH and in CI.")
@click.option("--replay", is_flag=True, help="Play the run again from its beginning, at its own pace.")
@click.option("--speed", type=click.FloatRange(0.01, 10_000), help="With --replay: how many times as fast. [1]")
@click.option(
    "--film",
    type=FILE,
    metavar="FILE.svg",
    help="With --replay: draw it into a picture that moves by itself, instead of on the screen.",
)
@click.option(
    "--web", is_flag=True, help="Show it in a browser instead: on this machine only, to whoever has the token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --web: where. [any that is free]")
@click.option("--allow-actions", is_flag=True, help="With --web: let keys act on the run, as in a terminal.")
@repository_options
def watch_command(*, run: str | None, repo: Path, state: str, **given: Unpack[WatchArguments]) -> None:
    """Watch RUN (the latest by default) in the dashboard, and act on it. `q` leaves it, and the run goes on.

    Outside of a repository, and with --all, it lists the runs of all repositories.

    Any number of people can watch a run. Without a terminal, in CI, with TERM=dumb or
    ORCHESTRATE_TUI=0, it prints a line for each thing that happens, takes answers that are typed on a terminal, and
    exits as the run does.

    \b
    orchestrate watch
    orchestrate watch --all
    orchestrate watch 7f3a --read-only
    orchestrate watch --replay 7f3a --speed 20
    orchestrate watch --web --port 8642
    """
    from orchestrator.cli.dashboard.screen import can_show_dashboard, print_run_lines, show_dashboard

    is_in_lines = not given["web"] and (given["plain"] or not can_show_dashboard(os.environ))
    _require_consistent(given, is_in_lines)
    if given["is_of_all"] or (run is None and not is_in_project(repo)):
        _watch_all(state, given, can_draw=run is None and not is_in_lines)
    run, repo, state = locate_named_run(run, repo, state)
    directory = find_state_directory(repo, state).find_run(run)
    words = format_location_options(repo.absolute(), state and str(Path(state).expanduser().absolute()))
    if given["film"] is not None:
        from orchestrator.cli.dashboard.film import write_film

        write_film(directory, given["film"], given["speed"])
    elif given["web"]:
        from orchestrator.cli.dashboard.browser import serve_dashboard

        can_act = given["allow_actions"] and not given["read_only"]
        serve_dashboard(directory, shlex.split(words), given["port"], can_act=can_act)
    elif is_in_lines:
        exit_with(print_run_lines(directory, words, given["read_only"]))
    else:
        again = f"orchestrate watch {directory.run}{format_location_options(repo, state)}"
        exit_with(show_dashboard(directory, shlex.split(words), given, again))


def _watch_all(state: str, given: WatchArguments, *, can_draw: bool) -> NoReturn:
    if given["web"] or given["replay"] or not can_draw:
        raise UsageProblem(
            "the list of all runs needs a terminal to draw on, and no RUN; orchestrate runs prints it in lines"
        )
    from orchestrator.cli.dashboard.run_list import show_run_list

    exit_with(show_run_list(state, given))


def _require_consistent(given: WatchArguments, is_in_lines: bool) -> None:
    if (given["port"] or given["allow_actions"]) and not given["web"]:
        raise UsageProblem("--port and --allow-actions are for --web")
    if given["speed"] is not None and not given["replay"]:
        raise UsageProblem("--speed is for --replay")
    if given["film"] is not None and not given["replay"]:
        raise UsageProblem("--film is of a recording: give --replay with it")
    if given["replay"] and given["film"] is None and (given["web"] or is_in_lines):
        raise UsageProblem("--replay needs a terminal to draw on; what happened is told by: orchestrate logs RUN")
