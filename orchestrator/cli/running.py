"""What all verbs do that work on a run: watch it, say how it ended, leave with its exit code."""

import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import click

from orchestrator.app.verbs import Ended
from orchestrator.cli.output import print_object, say, told
from orchestrator.cli.progress import Watching, watching
from orchestrator.errors import OrchestrateError
from orchestrator.report.result import failure_object, run_result
from orchestrator.report.summary import summary
from worktrees.errors import GitError


def carry_out(work: Callable[[Watching], Awaitable[Ended]], as_json: bool, where: str) -> int:
    """Do the work, watched; the exit code of how it ended.

    With `as_json` one object goes to standard output, also when the run could not be started. `where` are the options
    with which other verbs find the run.
    """
    try:
        with watching() as watcher:
            ended = anyio.run(work, watcher)
    except (OrchestrateError, GitError, OSError) as error:
        problem = told(error)
        if as_json and problem:
            print_object(failure_object(str(problem), problem.exit_code))
        raise
    say("")
    for text in summary(ended.state, where):
        say(text)
    if as_json:
        print_object(run_result(ended.state, ended.directory.journal))
    return ended.exit_code


def whereabouts(repo: Path, state: str) -> str:
    """The options that name a repository and a state directory, where they are not the usual ones."""
    at = f" --repo {shlex.quote(str(repo))}" if repo != Path() else ""
    return at + (f" --state {shlex.quote(state)}" if state else "")


def exit_with(code: int) -> None:
    """Leave the verb with a code."""
    click.get_current_context().exit(code)
