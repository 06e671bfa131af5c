"""Plans that wait for an answer, edited by people in their editor or a file, and checked against the run as it is."""

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import click

from orchestrator.cli.output import print_message
from orchestrator.cli.run.plan_file import read_checked_plan
from orchestrator.config.live_config import build_effective_config
from orchestrator.config.plan_limits import build_plan_limits
from orchestrator.domain.commands.definitions import Approve
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.ids import RunId, parse_plan_task
from orchestrator.domain.planning.edit_check import find_edit_problems
from orchestrator.domain.planning.plan_toml import render_plan
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.plan import Plan, PlanProblem
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem

_HELP = """# {title}
# None of these tasks has begun. Change the plan, save it and leave the editor: then it is checked and approved so.
# A file that is empty, or as it was, answers nothing: the question waits on.
# `docs/people.md` tells what a task can hold; what is left away is as usual.

"""


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
    question, proposed = _require_waiting_plan(state, item)
    planner = state.tasks[parse_plan_task(question.approval.subject)]
    limits = build_plan_limits(state, build_effective_config(state), planner)

    def find_problems(plan: Plan) -> Sequence[PlanProblem]:
        return find_edit_problems(state, question.approval, plan, limits)

    if file:
        return read_checked_plan(Path(file), find_problems)
    return _edit_plan(state.run.run, question, proposed, find_problems)


def keep_refused_plan(run: RunId, question: str, plan: Plan) -> str:
    """Keep a plan that an engine refused in a file, and return how to give it again."""
    file = Path(tempfile.mkdtemp(prefix="orchestrate-plan-"), "plan.toml")
    file.write_text(render_plan(plan), encoding="utf-8")
    return _suggest_again(run, question, file)


def _require_waiting_plan(state: RunState, item: str) -> tuple[ApprovalState, Plan]:
    question = state.find_question(item)
    if refusal := explain_refusal(state, Approve(item=item)):
        raise UsageProblem(refusal)
    if question is None or question.approval.plan is None:
        raise UsageProblem(f"{item} asks about no plan that can be edited: leave out --edit and --plan")
    return question, question.approval.plan


def _edit_plan(
    run: RunId, question: ApprovalState, proposed: Plan, find_problems: Callable[[Plan], Sequence[PlanProblem]]
) -> Plan:
    """Let a person edit the plan that waits; on a terminal the editor comes back while they go on mending it."""
    first = _HELP.format(title=to_one_line(question.approval.title)) + render_plan(proposed)
    file = Path(tempfile.mkdtemp(prefix="orchestrate-plan-"), "plan.toml")
    file.write_text(first, encoding="utf-8")
    before = first
    while True:
        _open_editor(run, question, file)
        text = file.read_text(encoding="utf-8", errors="replace")
        if not text.strip() or text == first:
            _answer_nothing(run, question, file)
        try:
            plan = read_checked_plan(file, find_problems)
        except UsageProblem as problem:
            print_message(str(problem))
            if text == before or not sys.stdin.isatty():
                raise UsageProblem(f"nothing was answered; {_suggest_again(run, str(question.id), file)}") from problem
            before = text
            continue
        if plan == proposed:
            _answer_nothing(run, question, file)
        _remove_file(file)
        return plan


def _open_editor(run: RunId, question: ApprovalState, file: Path) -> None:
    try:
        click.edit(filename=str(file))
    except click.ClickException as failed:
        again = _suggest_again(run, str(question.id), file)
        raise UsageProblem(f"{failed.format_message()}: nothing was answered; {again}") from failed


def _answer_nothing(run: RunId, question: ApprovalState, file: Path) -> NoReturn:
    _remove_file(file)
    waits = f"the plan is as it was or empty, so nothing was answered and {question.id} waits on"
    raise UsageProblem(f"{waits}: `orchestrate approve {run} {question.id}` approves it as it is")


def _remove_file(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()


def _suggest_again(run: RunId, question: str, file: Path) -> str:
    return f"what you wrote is kept: mend {file}, then: orchestrate approve {run} {question} --plan {file}"
