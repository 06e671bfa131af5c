"""The change that a restart makes to the state of its run: what had landed beyond the good state counts no more."""

from collections.abc import Sequence

from orchestrator.domain.event.landing import LandingFinished, RewindFinished
from orchestrator.domain.fold.record_updates import update_task
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId
from orchestrator.domain.restart.left_line import LeftLine
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus

_ENDED_SLICES = frozenset({TaskStatus.DONE, TaskStatus.UNFINISHED})


def apply_rewind(event: RewindFinished, state: RunState) -> None:
    """Keep the landings up to the commit that the branch went back to, and discard the tasks that landed later.

    Raises:
        ValueError: the commit is neither the base nor one that landed.
    """
    kept = count_landings(state, event.new)
    del state.landings[kept:]
    del state.landed_at[kept:]
    discarded = [task for task in state.tasks.values() if _is_left_behind(state, task)]
    reason = f"a restart left iteration {event.iteration} behind; what it landed is kept in {event.kept}"
    for task in discarded:
        update_task(state, task, TaskStatus.DISCARDED, reason=reason, cause=EndCause.LEFT_BEHIND)
    leaves = tuple(task.spec.id for task in discarded)
    for planner in _list_planners_above(state, leaves):
        update_task(state, planner, TaskStatus.DISCARDED, reason=reason, cause=EndCause.LEFT_BEHIND)
    line = LeftLine(
        iteration=event.iteration,
        start=event.new,
        tip=event.old,
        kept=event.kept,
        tasks=leaves,
        foreign=event.foreign,
    )
    state.goal.left_lines = (*state.goal.left_lines, line)


def forget_plans(state: RunState) -> None:
    """Hide all that was planned so far from the planners, and drop what was decided but by work that still stands."""
    state.goal.hidden_tasks = frozenset(state.tasks)
    if ROOT_TASK in state.tasks:
        update_task(state, state.tasks[ROOT_TASK], rationales=())
    standing = []
    for decision in state.register:
        owner = state.tasks.get(decision.owner)
        if owner is not None and owner.status == TaskStatus.MERGED:
            standing.append(decision)
    state.register = tuple(standing)


def count_landings(state: RunState, commit: CommitId) -> int:
    """Return how many landings made the branch what it is at a commit: none at the base.

    Raises:
        ValueError: the commit is neither the base nor one that landed.
    """
    if commit == state.run.base:
        return 0
    return _find_landing(state.landings, commit) + 1


def _find_landing(landings: Sequence[LandingFinished], commit: CommitId) -> int:
    for number, landing in enumerate(landings):
        if landing.new == commit:
            return number
    raise ValueError(f"nothing that landed has the commit {commit}")


def _is_left_behind(state: RunState, task: TaskState) -> bool:
    return task.status == TaskStatus.MERGED and not state.has_landed(task.unit)


def _list_planners_above(state: RunState, leaves: Sequence[TaskId]) -> list[TaskState]:
    """Return the slices that had come to their end and hold what was discarded, without that of the whole goal."""
    names: set[TaskId] = set()
    for leaf in leaves:
        names.update(state.iterate_lineage(state.tasks[leaf].spec.parent))
    found = []
    for name in sorted(names):
        planner = state.tasks[name]
        if planner.spec.parent is not None and planner.status in _ENDED_SLICES:
            found.append(planner)
    return found
