"""A model step in the plan tree: the step as a task with its budget, each of its files as a leaf below it.

So transcripts, costs, budgets and limits work as they do for goals. A file that climbs the ladder anew gets a new leaf.
"""

import re
from collections.abc import Iterator
from hashlib import sha256

from orchestrator.domain.event import Event
from orchestrator.domain.event.work import TaskCreated, TaskEnded
from orchestrator.domain.ids import TaskId, make_slug
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import ModelStep, Step
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, Task, TaskStatus
from worktrees.safety.path_rules import escape_path

_NAME_CHARS = 48


def build_step_task_id(step: Step) -> TaskId:
    """Return the id of the task of a step."""
    return TaskId(f"step/{step.id}")


def build_file_task_id(step: Step, path: str, climb: int = 1) -> TaskId:
    """Return the id of the task of one file in a step.

    Readable, and another one for every path and each climb of it.
    """
    name = make_slug(path[-_NAME_CHARS:], _NAME_CHARS)
    again = f"-{climb}" if climb > 1 else ""
    return TaskId(f"{build_step_task_id(step)}/{name}-{sha256(path.encode()).hexdigest()[:6]}{again}")


def list_file_tasks(state: RunState, step: Step, path: str) -> list[TaskState]:
    """Return the leaves that a file has had in a step so far, oldest first."""
    found: list[TaskState] = []
    while (task := state.tasks.get(build_file_task_id(step, path, len(found) + 1))) is not None:
        found.append(task)
    return found


def find_latest_file_task(state: RunState, step: Step, path: str) -> TaskState | None:
    """Return the leaf of the file's latest climb; None if it has not come to the step yet."""
    found = list_file_tasks(state, step, path)
    return found[-1] if found else None


def find_open_file_task(state: RunState, step: Step, path: str, attempt: int) -> TaskState | None:
    """Return the leaf in which an attempt goes on; None if there has to be a new one."""
    latest = find_latest_file_task(state, step, path)
    if latest is None or latest.status.is_terminal:
        return None
    was_cut_off = latest.attempt is not None and latest.verdict is None
    return latest if was_cut_off or len(latest.attempts) < attempt else None


def build_step_task(recipe: Recipe, step: ModelStep) -> TaskCreated:
    """Return the event that creates the task of a step, with the step's budget."""
    spec = Task(
        id=build_step_task_id(step),
        parent=None,
        depth=0,
        kind="branch",
        title=f"step {step.id}",
        outcome=_describe_outcome(recipe),
        budget_usd=step.budget_usd or None,
    )
    return TaskCreated(task=spec.id, spec=spec)


def build_file_task_events(state: RunState, recipe: Recipe, step: Step, path: str) -> Iterator[Event]:
    """Yield the events of a new leaf for a file; the one it had before, if it is still open, ends."""
    earlier = list_file_tasks(state, step, path)
    if earlier and not earlier[-1].status.is_terminal:
        yield _build_end(earlier[-1], TaskStatus.CANCELLED, "the file climbs the ladder anew", EndCause.CANCELLED)
    shown = escape_path(path)
    spec = Task(
        id=build_file_task_id(step, path, len(earlier) + 1),
        parent=build_step_task_id(step),
        depth=1,
        kind="leaf",
        title=f"migrate {shown}",
        outcome=f"{_describe_outcome(recipe)} Here: in {shown}, and nowhere else.",
        paths=(escape_glob(path),),
        non_goals=("every other file", "what the migration is not about"),
    )
    yield TaskCreated(task=spec.id, spec=spec)


def escape_glob(path: str) -> str:
    """Return a glob that matches this path alone."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def build_task_ends(state: RunState, recipe: Recipe) -> Iterator[TaskEnded]:
    """Yield the ends of leaves whose files have theirs."""
    for rung, step in enumerate(recipe.step):
        if step.kind != "llm" or build_step_task_id(step) not in state.tasks:
            continue
        for file in state.migration.files.values():
            latest = find_latest_file_task(state, step, file.path)
            if latest is not None and not latest.status.is_terminal and file.status.is_terminal:
                yield _build_file_end(latest, file, rung)


def _build_file_end(task: TaskState, file: FileRecord, rung: int) -> TaskEnded:
    if file.status == FileStatus.MERGED and file.rung == rung and task.status == TaskStatus.QUEUED:
        return TaskEnded(task=task.spec.id, status=TaskStatus.MERGED, reason="")
    if file.status == FileStatus.SKIPPED:
        return _build_end(task, TaskStatus.CANCELLED, "a person left the file out", EndCause.CANCELLED)
    return _build_end(task, TaskStatus.REJECTED, file.reason or "another step did it", EndCause.NO_ATTEMPT_LEFT)


def _build_end(task: TaskState, status: TaskStatus, reason: str, cause: EndCause) -> TaskEnded:
    return TaskEnded(task=task.spec.id, status=status, reason=reason, cause=cause)


def _describe_outcome(recipe: Recipe) -> str:
    return f"{recipe.title}. {recipe.migration.description}".strip()
