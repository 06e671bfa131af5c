"""What giving up a task or a run stops, what it leaves, and how it is taken back."""

from collections.abc import Iterator
from shlex import quote

from orchestrator.domain.commands.goal import iterate_subtree
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.report.read_model import ReadModel

_SHOWN = 10


class StoppedTask(ReadModel):
    """A task that is given up, with the status that it had."""

    task: TaskId
    status: TaskStatus


class Cancellation(ReadModel):
    """The tasks that are `stopped`, what is `kept`, and the commands that take it back, in the words of a shell."""

    stopped: tuple[StoppedTask, ...]
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
        landed=sum(task.status == TaskStatus.MERGED for task in state.tasks.values()),
        candidates=tuple(candidates),
        take_back=tuple(f"orchestrate retry {quote(state.run.run)} {quote(task.spec.id)}" for task in leaves),
        branch=state.run.branch,
        is_migration=state.run.mode == "migration",
    )


def render_cancellation(one: Cancellation) -> Iterator[str]:
    """Yield what is stopped, what is kept, and how to take it back, a line each."""
    names = [f"{stopped.task} ({stopped.status})" for stopped in one.stopped]
    yield f"stopped: {join_limited(names, _SHOWN) or 'what was under way'}"
    kept = f"what landed stays on {one.branch}"
    if not one.is_migration:
        kept = f"{format_count(one.landed, 'landed task')} on {one.branch}"
    if one.candidates:
        kept += f", and unfinished work under {join_limited(one.candidates, _SHOWN)}"
    yield f"kept: {kept}"
    if one.is_migration:
        yield "take it back: run the migration again; what its steps made is taken over"
    elif one.take_back:
        yield f"take it back: {join_limited(one.take_back, _SHOWN, '; ')}"
    else:
        yield "take it back: begin a new run of the goal; nothing of this one can be tried again"
