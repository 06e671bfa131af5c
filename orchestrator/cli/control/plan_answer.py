"""Plans that wait for an answer, edited by people in their editor or a file, and checked against the run as it is."""

import sys
from pathlib import Path

import click

from orchestrator.cli.output import print_message
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.edited_plans import (
    WaitingPlan,
    read_checked_plan,
    remove_plan_file,
    require_waiting_plan,
    suggest_again,
)


def read_edited_plan(state: RunState, item: str, *, in_editor: bool, file: str) -> Plan | None:
    """Return the plan that a person gives in the place of the one that waits; None to leave that as it is.

    Args:
        state: the run, with the commands that wait in its inbox.
        item: the question.
        in_editor: open the plan that waits in the person's editor.
        file: read the plan from this file; empty if there is none.

    Raises:
        UsageProblem: the question asks about no plan, or the plan may not be carried out; the message names the line.
    """
    if not in_editor and not file:
        return None
    if in_editor and file:
        raise UsageProblem("--edit opens an editor and --plan names a file: give one of them")
    waiting = require_waiting_plan(state, item)
    if file:
        return read_checked_plan(Path(file), waiting.find_problems)
    return _edit_plan(waiting)


def _edit_plan(waiting: WaitingPlan) -> Plan:
    """Let a person edit the plan that waits; on a terminal the editor comes back while they go on mending it."""
    file, before = waiting.write_file(), b""
    again = suggest_again(waiting.state.run.run, waiting.question, file)
    while True:
        try:
            click.edit(filename=str(file))
        except click.ClickException as failed:
            raise UsageProblem(f"{failed.format_message()}: nothing was answered; {again}") from failed
        text = file.read_bytes()
        try:
            plan = waiting.read_file(file)
        except UsageProblem as problem:
            print_message(str(problem))
            if text == before or not sys.stdin.isatty():
                raise UsageProblem(f"nothing was answered; {again}") from problem
            before = text
            continue
        remove_plan_file(file)
        if plan is None:
            raise UsageProblem(_describe_no_answer(waiting))
        return plan


def _describe_no_answer(waiting: WaitingPlan) -> str:
    name = waiting.question.id
    waits = f"the plan is as it was or empty, so nothing was answered and {name} waits on"
    return f"{waits}: `orchestrate approve {waiting.state.run.run} {name}` approves it as it is"
