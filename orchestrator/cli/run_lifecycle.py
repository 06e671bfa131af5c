"""Run an engine for a verb: start it, watch it, print how the run ended, leave with its exit code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from orchestrator.cli.arguments import VerbArguments
from orchestrator.cli.engine_follower import Detached, follow_engine, start_background_engine
from orchestrator.cli.output import convert_to_user_error, exit_with, print_message, print_object, warn_if_unsafe
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.discovery.earlier_costs import collect_earlier_costs
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead
from orchestrator.errors import OrchestrateError
from orchestrator.report.cost.budgets import is_bounded_by_time, may_spend_without_limit
from orchestrator.report.cost.earlier_runs import describe_earlier_costs, suggest_budget_usd
from orchestrator.report.run.model import RunFailure, StartedRun
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.run_control.control import RunLocation, needs_engine, predict_state
from orchestrator.run_control.prepared_engine import PreparedEngine
from worktrees.errors import GitError

RunOpener = Callable[[], tuple[RunLocation, RunState]]
"""Makes a run or finds it, and tells where it stands."""


def run_with_engine(begin: RunOpener, given: VerbArguments, prepared: PreparedEngine | None = None) -> NoReturn:
    """Have an engine work on a run, the `prepared` one if there is one, and leave with the exit code of how it ended.

    With --json one object goes to standard output, also when the run could not be started. With --detach only the
    start is awaited.
    """
    where = format_location_options(given["repo"], given["state"])
    exit_with(_follow_run(begin, given["as_json"], where, given["detach"], prepared))


def _follow_run(begin: RunOpener, as_json: bool, where: str, detach: bool, prepared: PreparedEngine | None) -> int:
    try:
        with print_failure_as_json(as_json):
            location, state = begin()
            warn_if_unsafe(state.is_unsafe)
            if needs_engine(location, state):
                _warn_if_unlimited(location, predict_state(location, state))
                if detach:
                    return _start_in_background(location, as_json, where, prepared)
                state = follow_engine(location, where=where, prepared=prepared)
    except Detached as detached:
        run = detached.location.directory.run
        if detached.is_stopping:
            print_message(f"left; the engine of run {run} stops by itself; see: orchestrate status {run}{where}")
        elif detached.has_terminal:
            print_message(_format_background_notice(detached.location, where))
        return 0
    print_message("")
    warn_if_unsafe(state.is_unsafe)
    for text in render_summary_lines(state, where):
        print_message(text)
    if as_json:
        print_object(build_run_result(state, location.directory.journal).as_object())
    end = state.ended or state.paused
    return end.exit if end else 1


def _warn_if_unlimited(location: RunLocation, state: RunState) -> None:
    """Say that nothing bounds the cost of a run, what similar runs cost, and how to set a limit."""
    if not may_spend_without_limit(state):
        return
    earlier = collect_earlier_costs(location.state, state.run.mode, state.run.run)
    cost = add_lead("; ", describe_earlier_costs(earlier))
    bound = "nothing"
    if is_bounded_by_time(state):
        bound = "nothing but time"
    limit = f"--budget-usd {suggest_budget_usd(earlier):g}, or usd under [budget]"
    print_message(f"no budget: {bound} bounds what the run may cost{cost} (set a limit: {limit})")


@contextmanager
def print_failure_as_json(as_json: bool) -> Iterator[None]:
    """With `as_json`, print an error of the block as one object on standard output, and raise it again."""
    try:
        yield
    except (OrchestrateError, GitError, OSError) as error:
        problem = convert_to_user_error(error)
        if as_json and problem:
            print_object(RunFailure(error=str(problem), exit=problem.exit_code).as_object())
        raise


def _start_in_background(location: RunLocation, as_json: bool, where: str, prepared: PreparedEngine | None) -> int:
    start_background_engine(location, prepared)
    if as_json:
        print_object(StartedRun(run=location.directory.run, journal=str(location.directory.journal)).as_object())
    else:
        click.echo(location.directory.run)
    print_message(_format_background_notice(location, where))
    return 0


def _format_background_notice(location: RunLocation, where: str) -> str:
    run = location.directory.run
    return f"run {run} goes on in the background; see: orchestrate status {run}{where}"
