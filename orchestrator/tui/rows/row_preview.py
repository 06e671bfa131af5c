"""The preview of a row: a question with its detail, the reason of a failure and what can be done, a task's history."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.questions import QuestionRow, build_question_rows, render_question_lines
from orchestrator.report.run.next_step import suggest_file_step, suggest_task_step
from orchestrator.report.task.details import render_task_history
from orchestrator.tui.rows.subject_details import Styled, get_history_style

_MOST_TESTS = 12
"""The failing tests that are named; more are counted."""
_LINE_CHARS = 400


def render_row_preview(state: RunState, row: AgentRow, now: datetime) -> list[Styled]:
    """Return the lines of a row of the fleet; what the row itself shows is not repeated.

    A conversation that asks nothing has none: its words are shown instead.
    """
    if row.activity is Activity.ASK and (question := _find_question(state, row, now)) is not None:
        return list(render_question_preview(question))
    if row.kind == "file" and row.id in state.migration.files:
        return list(render_file_preview(state, state.migration.files[row.id]))
    if row.kind == "task" and row.id in state.tasks:
        return list(render_task_preview(state, state.tasks[TaskId(row.id)], row.activity))
    if row.kind == "count":
        return [(f"{row.title}: enter shows them row by row", "dim")]
    return [(line, "") for line in (row.title, row.last) if line]


def _find_question(state: RunState, row: AgentRow, now: datetime) -> QuestionRow | None:
    for question in build_question_rows(state, now):
        if question.is_open and (question.item == row.id or (row.task and question.task == row.task)):
            return question
    return None


def render_question_preview(question: QuestionRow) -> Iterator[Styled]:
    """Yield a question with its detail, which comes before the rest, as there may be room for few lines."""
    title, *rest = render_question_lines(replace(question, detail=()))
    yield title, "title"
    for line in question.detail:
        yield line, ""
    for line in rest:
        yield line, "dim"


def render_task_preview(state: RunState, task: TaskState, activity: Activity) -> Iterator[Styled]:
    """Yield why a task failed, which tests, and what can be done; of any other task its goal and its attempts."""
    if activity is Activity.FAIL:
        yield f"{task.status}{add_lead(': ', task.cause)}", "fail"
        yield from _render_reasons(task)
        yield suggest_task_step(state, task), "accent"
        yield "", ""
    for line in render_task_history(state, task):
        yield line, get_history_style(line)


def _render_reasons(task: TaskState) -> Iterator[Styled]:
    """Yield the reason of a task's end, and what the judge or the queue saw."""
    if task.reason:
        yield to_one_line(task.reason, _LINE_CHARS), ""
    if task.verdict is not None:
        for reason in task.verdict.verdict.reasons:
            if reason != task.reason:
                yield to_one_line(reason, _LINE_CHARS), ""
    if task.ejection is not None:
        yield from _render_tests(task.ejection.difference)


def _render_tests(difference: Difference) -> Iterator[Styled]:
    yield from _list_tests("fails", difference.new_failures)
    yield from _list_tests("is missing", difference.missing_tests)
    yield from _list_tests("passes and fails on one tree", difference.unsettled)


def _list_tests(verb: str, tests: Sequence[str]) -> Iterator[Styled]:
    for test in islice(tests, _MOST_TESTS):
        yield f"  {verb}: {to_one_line(test, _LINE_CHARS)}", "bad"
    if len(tests) > _MOST_TESTS:
        yield f"  {verb}: {format_count(len(tests) - _MOST_TESTS, 'more test')}", "dim"


def render_file_preview(state: RunState, file: FileRecord) -> Iterator[Styled]:
    """Yield why a file of a migration did not land, which tests fail for it, and what can be done."""
    is_failed = file.status.is_failed or file.status.is_left_over
    yield f"{file.path}  {file.status}", "fail" if is_failed else "title"
    for text in (file.reason, file.signature):
        for line in strip_controls(text).splitlines()[:_MOST_TESTS]:
            yield f"  {line[:_LINE_CHARS]}", ""
    ejection = next((one for one in reversed(state.ejections) if one.unit == file.path), None)
    if ejection is not None:
        yield from _render_tests(ejection.difference)
    if is_failed:
        yield suggest_file_step(state, file), "accent"
