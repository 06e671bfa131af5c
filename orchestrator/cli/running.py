"""What all verbs do that work on a run: start its engine, watch it, say how it ended, leave with its exit code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from orchestrator.app.place import Place, is_due
from orchestrator.cli.attach import Detached, start_in_background, work_on
from orchestrator.cli.output import alarm, print_object, say, told
from orchestrator.domain.state import RunState
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.errors import OrchestrateError
from orchestrator.report.result import failure_object, run_result
from orchestrator.report.summary import summary
from worktrees.errors import GitError

Begin = Callable[[], tuple[Place, RunState]]
"""Makes a run or finds it, and tells where it stands."""


def carry_out(begin: Begin, as_json: bool, where: str, detach: bool = False) -> int:
    """Have an engine work on a run, watched; the exit code of how it ended.

    With `as_json` one object goes to standard output, also when the run could not be started. `where` are the options
    with which other verbs find the run. With `detach` only the start is awaited.
    """
    try:
        with failing_as_object(as_json):
            place, state = begin()
            _warn(state)
            if is_due(place, state):
                if detach:
                    return _in_background(place, as_json, where)
                state = work_on(place)
    except Detached as hung_up:
        if hung_up.has_terminal:
            say(_goes_on(hung_up.place, where))
        return 0
    say("")
    _warn(state)
    for text in summary(state, where):
        say(text)
    if as_json:
        print_object(run_result(state, place.directory.journal))
    end = state.ended or state.paused
    return end.exit if end else 1


@contextmanager
def failing_as_object(as_json: bool) -> Iterator[None]:
    """With `as_json`, what stops the block is told as one object on standard output before it goes on its way."""
    try:
        yield
    except (OrchestrateError, GitError, OSError) as error:
        problem = told(error)
        if as_json and problem:
            print_object(failure_object(str(problem), problem.exit_code))
        raise


def _warn(state: RunState) -> None:
    if state.is_unsafe:
        alarm(UNSAFE)


def _in_background(place: Place, as_json: bool, where: str) -> int:
    start_in_background(place)
    if as_json:
        names = {"run": place.directory.run, "journal": str(place.directory.journal)}
        print_object({"schema": "orchestrate.started/1", "outcome": "started", **names})
    else:
        click.echo(place.directory.run)
    say(_goes_on(place, where))
    return 0


def _goes_on(place: Place, where: str) -> str:
    return f"run {place.directory.run} goes on in the background; see: orchestrate status {place.directory.run}{where}"


def exit_with(code: int) -> None:
    """Leave the verb with a code."""
    click.get_current_context().exit(code)
