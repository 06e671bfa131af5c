"""Suggest what the user of a run can do next, in one line."""

import shlex

from orchestrator.domain.commands.answers import suggest_answers
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.text.listing import format_count
from orchestrator.report.run.condition import describe_condition


def suggest_next_step(state: RunState, is_at_work: bool | None = None) -> str:
    """Return a command to type and what it does; empty while the run needs nobody. For `is_at_work` see `condition`."""
    run = state.run.run
    if state.pending_approvals:
        return f"{suggest_answers(run, state.pending_approvals)}: the run waits for your answer"
    if state.ended is None:
        now = describe_condition(state, is_at_work)
        return f"{now.command}: the run is {now.word} and can go on" * bool(now.command)
    if state.run.mode == "migration":
        return _suggest_after_migration(state)
    return _suggest_after_goal(state)


def _suggest_after_migration(state: RunState) -> str:
    run, left = state.run.run, sum(file.status.is_left_over for file in state.migration.files.values())
    if left:
        return f"orchestrate migrate report {run}: why {format_count(left, 'file')} did not land"
    if any(file.status == FileStatus.MERGED for file in state.migration.files.values()):
        return f"orchestrate diff {run}: look at what landed"
    return ""


def _suggest_after_goal(state: RunState) -> str:
    run = state.run.run
    if state.is_unjudged:
        return f"orchestrate resume {run}: have what landed judged again"
    if state.ended and state.ended.outcome != "done":
        for task in state.tasks.values():
            if task.spec.kind == "leaf" and task.cause in _EXPLAINED:
                return f"orchestrate show {run} {shlex.quote(task.spec.id)}: why {task.spec.id} did not land"
        return f"orchestrate show {run}: what the planner said, and which criteria are not met"
    if state.head:
        return f"orchestrate diff {run}: look at what landed"
    return ""


_EXPLAINED = frozenset(EndCause) - {
    EndCause.DEPENDENCY,
    EndCause.CANCELLED,
    EndCause.LEFT_BEHIND,
    EndCause.NOT_CHOSEN,
}
"""Causes that lie in the task itself: the others follow from another task, or from a person's word."""


def suggest_task_step(state: RunState, task: TaskState) -> str:
    """Return a command to type about a task and what it does; empty where there is nothing to do."""
    words = f"{state.run.run} {shlex.quote(task.spec.id)}"
    is_leaf = task.spec.kind == "leaf"
    if state.run.mode == "migration":
        return ""
    if task.status == TaskStatus.MERGED:
        return f"orchestrate diff {words}: look at what landed"
    if task.status == TaskStatus.DISCARDED and is_leaf:
        return f"orchestrate diff {words}: look at what it had landed"
    if task.cause == EndCause.REFUSED_BY_VERIFIER and is_leaf:
        return f"orchestrate retry {words}: have it tried again without the verifier's tests"
    if task.status.is_terminal and not task.status.is_reached and is_leaf:
        return f"orchestrate retry {words} --note TEXT: have it tried again, with a note to the worker"
    if task.status in {TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.UNFINISHED}:
        return f"orchestrate retry {words}: have it planned again"
    if not task.status.is_terminal and state.ended is None:
        return f"orchestrate logs {words} --follow: see what happens at it"
    return ""


def suggest_file_step(state: RunState, file: FileRecord) -> str:
    """Return a command to type about a file of a migration and what it does; empty where there is nothing to do."""
    words = f"{state.run.run} {shlex.quote(file.path)}"
    if file.status == FileStatus.MERGED:
        return f"orchestrate diff {words}: look at what landed"
    if file.status.is_left_over:
        return f"orchestrate migrate retry {words} --note TEXT: have it tried again, with a note to models"
    return ""
