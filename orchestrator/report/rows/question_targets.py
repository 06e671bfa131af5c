"""Find the question that a word of the command line names, and what it is about."""

from contextlib import suppress
from datetime import datetime

from orchestrator.domain.commands.answers import suggest_answers
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.questions import (
    build_question_rows,
    find_question_task,
    get_question_item,
    render_question_lines,
)


def find_target_question(state: RunState, name: str) -> ApprovalState | None:
    """Return the question of this name; None if there is none, or a task or file is called so."""
    if name in state.tasks or name in state.migration.files:
        return None
    with suppress(UsageProblem):
        return state.approvals.get(get_question_item(state, name))
    return None


def get_target_task(state: RunState, name: str) -> str:
    """Return the task that a question of this name is about; any other name is a task or file itself.

    Raises:
        UsageProblem: the question is about the run as a whole.
    """
    question = find_target_question(state, name)
    if question is None:
        return name
    task = find_question_task(state, question.approval)
    if task is None:
        raise UsageProblem(f"question {name} is about the whole run: leave it out")
    return task


def render_target_question(state: RunState, question: ApprovalState, now: datetime) -> list[str]:
    """Return a question in lines, with the command that answers it."""
    item = question.approval.item
    rows = [row for row in build_question_rows(state, now) if row.item == item]
    lines = render_question_lines(rows[0])
    if state.is_waiting(question):
        answer = suggest_answers(state.run.run, [question])
        lines.append(f"answer it: {answer}; orchestrate inbox lists all questions")
    return lines
