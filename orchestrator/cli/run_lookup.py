"""Find runs for the verbs that only read: without a git library, a subprocess or (if need be) the configuration."""

import os
import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from orchestrator.cli.arguments import common_options, repository_options
from orchestrator.cli.output import print_message
from orchestrator.domain.ids import LATEST_RUN, find_named_runs
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.locations.run_names import find_runs_called
from worktrees.errors import GitError
from worktrees.repositories.discovery import find_checkout

_SHOWN_RUNS = 8
"""At most so many runs are listed where a name fits several."""


def find_checkout_root(path: Path) -> Path:
    """Return the top of the checkout that `path` lies in.

    Raises:
        UsageProblem: there is none.
    """
    try:
        return find_checkout(path).root
    except GitError as error:
        raise UsageProblem(str(error)) from error


def find_project_root(path: Path) -> Path | None:
    """Return the top of the checkout that `path` lies in; None outside of any, where no project file counts."""
    try:
        return find_checkout_root(path)
    except UsageProblem:
        return None


def find_state_directory(repository: Path, state: str) -> StateDirectory:
    """Return the directory with the runs of a repository; `state` is the value of --state."""
    return StateDirectory.open_for(find_checkout_root(repository), state or _read_configured_state(os.environ))


def list_state_directories(state: str) -> list[StateDirectory]:
    """Return the directories with the runs of all repositories; `state` is the value of --state."""
    return StateDirectory.list_all(state or _read_configured_state(os.environ))


def find_run_anywhere(wanted: str, state: str) -> RunDirectory:
    """Return the one run of any repository that a name fits, as `StateDirectory.find_run` does for one repository.

    Raises:
        UsageProblem: there is none, or more than one.
    """
    runs = [run for states in list_state_directories(state) for run in states.list_runs()]
    names = set(find_named_runs(wanted, [run.run for run in runs]))
    found = [run for run in runs if run.run in names] or find_runs_called(wanted, runs)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageProblem(f"{wanted!r} is no run of any repository; orchestrate runs lists them")
    listed = ", ".join(f"{run.run} ({run.path.parents[1].name})" for run in found[:_SHOWN_RUNS])
    raise UsageProblem(f"{wanted!r} fits more than one run: {listed}")


class RunPlace(NamedTuple):
    """A run as a command line names it, and where it lies: the values of --repo and --state."""

    run: str | None
    repo: Path
    state: str


def locate_named_run(run: str | None, repo: Path, state: str) -> RunPlace:
    """Return where the run lies that a command line names; outside of any repository, by its own journal.

    Raises:
        UsageProblem: no repository is named or near, and `run` names none of the runs of all, or more than one.
    """
    if is_in_project(repo):
        return RunPlace(run, repo, state)
    directory = find_run_anywhere(require_run_name(run), state)
    from orchestrator.discovery.run_repository import read_run_repository  # reads journals

    return RunPlace(directory.run, read_run_repository(directory), str(directory.path.parents[2]))


def find_run_of_verb(run: str | None, repo: Path, state: str) -> RunDirectory:
    """Return the directory of the run that a command line names, for verbs that need no repository.

    Raises:
        UsageProblem: as `locate_named_run`.
    """
    if is_in_project(repo):
        return find_state_directory(repo, state).find_run(run)
    return find_run_anywhere(require_run_name(run), state)


def is_in_project(repo: Path) -> bool:
    """Return True if --repo names a repository, or the current directory lies in one."""
    return repo != Path() or find_project_root(repo) is not None


def require_run_name(run: str | None) -> str:
    """Return the name of a run that is looked for over all repositories.

    Raises:
        UsageProblem: it is left out, or means the latest run, of which each repository has one.
    """
    if run is None or run == LATEST_RUN:
        raise UsageProblem(
            f"{Path().absolute()} lies in no git repository, so it has no latest run: name a RUN by its id "
            "(orchestrate runs lists those of all repositories), or a repository with --repo DIR"
        )
    return run


def pass_run_directory(function: Callable[..., None]) -> Any:  # noqa: ANN401
    """Give a verb RUN, --repo, --state and --json, and pass it the run as `directory`: the latest if not named."""

    @wraps(function)
    def run_verb(run: str | None, repo: Path, state: str, **given: Any) -> None:  # noqa: ANN401
        function(find_run_of_verb(run, repo, state), **given)

    return click.argument("run", required=False)(common_options(run_verb))


def pass_run_target(function: Callable[..., None]) -> Any:  # noqa: ANN401
    """Give a verb [RUN] [TASK], --repo and --state, and pass it what they mean as `target`."""

    @wraps(function)
    def run_verb(run: str | None, task: str | None, repo: Path, state: str, **given: Any) -> None:  # noqa: ANN401
        from orchestrator.discovery.run_targets import find_run_target  # reads journals

        place = locate_named_run(run, repo, state)
        target = find_run_target(place.repo, find_state_directory(place.repo, place.state), place.run, task)
        if target.other_meaning:
            print_message(target.other_meaning)
        function(target, **given)

    verb = click.argument("task", required=False)(repository_options(run_verb))
    return click.argument("run", required=False)(verb)


def _read_configured_state(environ: Mapping[str, str]) -> str:
    """Return the state directory of the environment or the user's file.

    The configuration is only loaded if there is such a file.
    """
    if not _has_user_file(environ):
        return environ.get("ORCHESTRATE__STATE__DIR", "")
    from orchestrator.config.layers import load_config

    return load_config(None, environ=environ).config.state.dir


def has_user_settings(environ: Mapping[str, str]) -> bool:
    """Return True if the user's file or the environment may say anything that differs from the shipped defaults."""
    return _has_user_file(environ) or any(name.startswith("ORCHESTRATE__") for name in environ)


def _has_user_file(environ: Mapping[str, str]) -> bool:
    base = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/"), ".config"))
    return (base / "orchestrate" / "config.toml").exists()


def has_live_engine(directory: RunDirectory) -> bool:
    """Return True if a process holds the run's lock and gives signs of life."""
    return find_lock_owner(directory.path) is not None


def format_location_options(repo: Path, state: str) -> str:
    """Return the options that name a repository and a state directory, if they are not the usual ones."""
    options = ""
    if repo != Path():
        options += f" --repo {shlex.quote(str(repo))}"
    if state:
        options += f" --state {shlex.quote(state)}"
    return options
