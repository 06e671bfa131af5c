"""`orchestrate plan`."""

from collections.abc import Iterator
from typing import Unpack

import anyio
import click

from orchestrator.app.goal_planning import GoalPlan, plan_goal
from orchestrator.cli.arguments import (
    VerbArguments,
    config_options,
    contract_options,
    detach_option,
    gate_option,
    json_option,
    naming_options,
    repository_options,
)
from orchestrator.cli.documents import PlanDocument
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import print_document
from orchestrator.cli.run.plan_progress import PlanProgress
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.grant import format_grants
from orchestrator.domain.run.task import Handoff, TaskDraft
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.engine.verification.policy import describe_verification
from orchestrator.project.options import Options


@click.command("plan")
@click.argument("goal")
@repository_options
@click.option("--model", "models", multiple=True, metavar="ROLE=MODEL", help="planner=MODEL.")
@contract_options
@gate_option
@click.option("--edit", "is_edited", is_flag=True, help="Edit the plan in your editor, and run it.")
@click.option("--yes", "is_agreed", is_flag=True, help="With --edit: run the plan also if you leave it unchanged.")
@naming_options
@detach_option
@config_options
@json_option
def plan_command(goal: str, *, is_edited: bool, is_agreed: bool, **given: Unpack[VerbArguments]) -> None:
    """Plan GOAL and print the plan; nothing is changed. Branches are divided further during a run.

    With --edit the plan is shown in `$VISUAL` or `$EDITOR` and checked; the run that begins then has it as its first.
    A plan that you leave unchanged is run only with --yes.

    \b
    orchestrate plan "split the settings module" --model planner=anthropic/claude-sonnet-4-5
    orchestrate plan "split the settings module" --edit
    """
    if is_agreed and not is_edited:
        raise click.UsageError("--yes goes with --edit: without it nothing is run")
    if not is_edited:
        print_plan(build_options(given), goal, given["as_json"])
        return
    from orchestrator.cli.run.plan_run import edit_and_run

    edit_and_run(goal, given, is_agreed)


def print_plan(options: Options, goal: str, as_json: bool) -> None:
    """Plan a goal and print the plan, as one object or for a person: the contract first, then the tasks."""
    with PlanProgress() as progress:
        goal_plan = anyio.run(plan_goal, options, goal, progress.on_event_recorded)
    document = PlanDocument(goal=goal, criteria=goal_plan.contract.criteria, **dict(goal_plan.plan))
    print_document(document, (*_render_criteria(goal_plan.contract), *_render_plan(goal_plan)), as_json)


def _render_criteria(contract: Contract) -> Iterator[str]:
    yield "reached when"
    for criterion in contract.criteria:
        line = f"  {criterion.id}: {to_one_line(criterion.text)}"
        if criterion.command:
            line += f"  $ {to_one_line(criterion.command)}"
        yield line
    yield ""


def _render_plan(goal_plan: GoalPlan) -> Iterator[str]:
    plan = goal_plan.plan
    if isinstance(plan, Handoff):
        yield f"nothing to do: {plan.summary}"
        return
    yield plan.rationale
    for draft in plan.tasks:
        yield from _render_draft(draft)
        if verification := describe_verification(goal_plan.verifier, draft):
            yield f"  {verification}"


def _render_draft(draft: TaskDraft) -> Iterator[str]:
    after = f"  after {', '.join(draft.depends_on)}" if draft.depends_on else ""
    yield f"\n{draft.key} ({draft.kind}){after}  {draft.title}"
    yield f"  {draft.outcome}"
    for point in draft.acceptance:
        yield f"  - {point}"
    if draft.paths:
        yield f"  paths: {', '.join(draft.paths)}"
    if draft.grants:
        yield f"  may change tests and configuration: {format_grants(draft.grants)}"
