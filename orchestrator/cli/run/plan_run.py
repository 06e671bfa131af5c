"""Runs whose first plan a person gave."""

from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio

from orchestrator.app.goal_planning import build_root_limits, plan_goal
from orchestrator.app.run_creation import create_goal_run
from orchestrator.cli.arguments import VerbArguments
from orchestrator.cli.flags import build_options
from orchestrator.cli.run.plan_file import edit_plan, read_plan_file
from orchestrator.cli.run.plan_progress import PlanProgress
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.domain.event.people import PlanGiven
from orchestrator.domain.run.plan import Plan, PlanLimits
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.project.options import Options, load_project_context
from orchestrator.run_control.control import RunLocation


def edit_and_run(goal: str, given: VerbArguments, is_agreed: bool) -> NoReturn:
    """Plan a goal, let the person edit the plan, and run it; with `is_agreed` also an unchanged one.

    Raises:
        UsageProblem: there is nothing to plan, or the person did not finish.
    """
    options = build_options(given)
    limits = read_root_limits(options)
    with PlanProgress() as progress:
        proposed = anyio.run(plan_goal, options, goal, progress.on_event_recorded).plan
    if not isinstance(proposed, Plan):
        raise UsageProblem(f"there is nothing to edit: {proposed.summary}")
    plan = edit_plan(proposed, limits, goal, is_agreed)
    run_with_engine(partial(create_planned_run, options, goal, PlanGiven(plan=plan, proposed=proposed)), given)


def run_plan_file(goal: str, file: Path, given: VerbArguments) -> NoReturn:
    """Run a goal that begins with the plan of a file.

    Raises:
        UsageProblem: it is no plan that may be carried out.
    """
    options = build_options(given)
    plan = PlanGiven(plan=read_plan_file(file, read_root_limits(options)))
    run_with_engine(partial(create_planned_run, options, goal, plan), given)


def read_root_limits(options: Options) -> PlanLimits:
    """Return the bounds of the first plan in a project."""
    return build_root_limits(load_project_context(options).config)


def create_planned_run(options: Options, goal: str, given: PlanGiven) -> tuple[RunLocation, RunState]:
    """Make a run that begins with a plan; nothing works on it yet."""
    location = anyio.run(partial(create_goal_run, options, goal, given=given))
    return location, read_state(location.directory.journal)
