"""Plans that wait for an answer, edited by people in their editor or a file, and checked against the run as it is."""

from pathlib import Path

from orchestrator.cli.terminal.plan_editor import edit_until_sound
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
    file = waiting.write_file()
    kept = f"nothing was answered; {suggest_again(waiting.state.run.run, waiting.question, file)}"
    plan = edit_until_sound(file, lambda: waiting.read_file(file), kept)
    remove_plan_file(file)
    if plan is None:
        raise UsageProblem(_describe_no_answer(waiting))
    return plan


def _describe_no_answer(waiting: WaitingPlan) -> str:
    name = waiting.question.id
    waits = f"the plan is as it was or empty, so nothing was answered and {name} waits on"
    return f"{waits}: `orchestrate approve {waiting.state.run.run} {name}` approves it as it is"
