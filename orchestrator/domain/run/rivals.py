"""Rivals: tasks that try the same thing independently, of which one lands."""

from collections.abc import Sequence

from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause


def list_rivals(state: RunState, task: TaskState) -> list[TaskState]:
    """Return a task and those that try the same, in plan order; the task alone if it has no rivals."""
    first = task.spec.rival_of
    if first is None or task.spec.parent is None:
        return [task]
    names = state.task_index.sort_by_place(state.task_index.rivals.get(first, ()))
    return [state.tasks[name] for name in names]


def has_live_rival(state: RunState, task: TaskState) -> bool:
    """Return True if a task that tries the same as this one has not ended."""
    return task.spec.rival_of is not None and any(not one.status.is_terminal for one in list_rivals(state, task))


def is_outdone(state: RunState, task: TaskState) -> bool:
    """Return True if a task did not land and nobody has to mind: a rival of it may still land, or has landed."""
    if task.spec.rival_of is None or task.status.is_reached or not task.status.is_terminal:
        return False
    if task.cause == EndCause.NOT_CHOSEN:
        return True
    return any(not one.status.is_terminal or one.status.is_reached for one in list_rivals(state, task))


def find_chosen(rivals: Sequence[TaskState]) -> TaskState | None:
    """Return the rival that was chosen last; None if none was."""
    return next((rival for rival in rivals if rival.is_chosen), None)
