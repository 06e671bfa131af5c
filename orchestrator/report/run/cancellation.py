"""What giving up a task or a run stops, what it leaves, and how it is taken back."""

from collections.abc import Collection, Iterator, Sequence
from shlex import quote

from orchestrator.domain.commands.goal import iterate_subtree
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.report.read_model import ReadModel

_SHOWN = 10


class StoppedTask(ReadModel):
    """A task that is given up, with the status that it had."""

    task: TaskId
    status: TaskStatus


class Cancellation(ReadModel):
    """The tasks that are `stopped`, what is `kept`, and the commands that take it back, in the words of a shell.

    `dependents` depend on those that are stopped: they are given up untried, and come back with them.
    """

    stopped: tuple[StoppedTask, ...]
    dependents: tuple[TaskId, ...]
    landed: int
    candidates: tuple[str, ...]
    take_back: tuple[str, ...]
    branch: str
    is_migration: bool


def preview_cancellation(state: RunState, name: TaskId | None) -> Cancellation:
    """Return what giving up a task, or the whole run, means as the run stands now."""
    top = state.tasks.values() if name is None else iterate_subtree(state, state.tasks[name])
    stopped = [task for task in top if not task.status.is_terminal]
    candidates = [task.candidate.ref for task in stopped if task.candidate is not None]
    leaves = [task for task in stopped if task.spec.kind == "leaf" and task.spec.id != ROOT_TASK]
    return Cancellation(
        stopped=tuple(StoppedTask(task=task.spec.id, status=task.status) for task in stopped),
        dependents=_list_dependents(state, stopped),
        landed=sum(task.status == TaskStatus.MERGED for task in state.tasks.values()),
        candidates=tuple(candidates),
        take_back=tuple(f"orchestrate retry {quote(state.run.run)} {quote(task.spec.id)}" for task in leaves),
        branch=state.run.branch,
        is_migration=state.run.mode == "migration",
    )


def _list_dependents(state: RunState, stopped: Sequence[TaskState]) -> tuple[TaskId, ...]:
    """Return the tasks that depend on one of these, directly or not, and are none of them."""
    given_up = {task.spec.id for task in stopped}
    dependents = []
    for name, task in state.tasks.items():
        if name not in given_up and not task.status.is_terminal and _depends_on_any(state, task, given_up):
            dependents.append(name)
    return tuple(dependents)


def _depends_on_any(state: RunState, task: TaskState, wanted: Collection[TaskId]) -> bool:
    for name in task.spec.depends_on:
        if name in wanted or (name in state.tasks and _depends_on_any(state, state.tasks[name], wanted)):
            return True
    return False


def render_cancellation(one: Cancellation) -> Iterator[str]:
    """Yield what is stopped, what is kept, and how to take it back, a line each."""
    names = [f"{stopped.task} ({stopped.status.word})" for stopped in one.stopped]
    yield f"stopped: {join_limited(names, _SHOWN) or 'what was under way'}"
    if one.dependents:
        yield f"with it: {join_limited(one.dependents, _SHOWN)}, which depend on it; a retry brings them back"
    kept = f"what landed stays on {one.branch}"
    if not one.is_migration and one.landed:
        kept = f"{format_count(one.landed, 'landed task')} on {one.branch}"
    elif not one.is_migration:
        kept = "nothing has landed yet"
    if one.candidates:
        kept += f", and unfinished work under {join_limited(one.candidates, _SHOWN)}"
    yield f"kept: {kept}"
    if one.is_migration:
        yield "take it back: run the migration again; what its steps made is taken over"
    elif one.take_back:
        yield f"take it back: {join_limited(one.take_back, _SHOWN, '; ')}"
    else:
        yield "take it back: begin a new run of the goal; nothing of this one can be tried again"
