"""`orchestrate plan`."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator.app.options import Options
from orchestrator.app.planning import plan_goal
from orchestrator.cli.options import as_json, configured, in_repository, models_of, settings_of
from orchestrator.cli.output import print_lines, print_object
from orchestrator.config.values import nest
from orchestrator.domain.handoff import Handoff
from orchestrator.domain.plan import Plan
from orchestrator.domain.task import TaskDraft


@click.command("plan")
@click.argument("goal")
@in_repository
@click.option("--model", "models", multiple=True, metavar="ROLE=MODEL", help="planner=MODEL.")
@configured
@as_json
def command(
    goal: str,
    repo: Path,
    state: str,
    models: tuple[str, ...],
    settings: tuple[str, ...],
    trust_project: bool,
    as_json: bool,
) -> None:
    """Let the root planner plan GOAL and print the plan. Branches would be divided further during a run.

    \b
    orchestrate plan "split the settings module" --model planner=anthropic/claude-sonnet-4-5
    """
    flags: dict[str, Any] = settings_of(settings)
    models_of(models, flags)
    if state:
        nest(flags, ("state", "dir"), state)
    print_plan(Options(repo, flags, trust_project=trust_project), goal, as_json)


def print_plan(options: Options, goal: str, as_json: bool) -> None:
    """Plan and print, as one object or for a person."""
    plan = anyio.run(partial(plan_goal, options, goal))
    if as_json:
        print_object({"schema": "orchestrate.plan/1", "goal": goal} | plan.model_dump(mode="json"))
    else:
        print_lines(_lines(plan))


def _lines(plan: Plan | Handoff) -> Iterator[str]:
    if isinstance(plan, Handoff):
        yield f"nothing to do: {plan.summary}"
        return
    yield plan.rationale
    for draft in plan.tasks:
        yield from _draft_lines(draft)


def _draft_lines(draft: TaskDraft) -> Iterator[str]:
    after = f"  after {', '.join(draft.depends_on)}" if draft.depends_on else ""
    yield f"\n{draft.key} ({draft.kind}){after}  {draft.title}"
    yield f"  {draft.outcome}"
    yield from (f"  - {point}" for point in draft.acceptance)
    if draft.paths:
        yield f"  paths: {', '.join(draft.paths)}"
    if draft.grants:
        yield f"  may change tests and configuration: {', '.join(draft.grants)}"
