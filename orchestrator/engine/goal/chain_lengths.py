"""Measure how many tasks have to follow each task: the one for which the most waits begins first."""

from collections.abc import Mapping

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState


def compute_chain_lengths(state: RunState) -> Mapping[TaskId, int]:
    """Return, by task, the length of the longest chain of tasks that begins with it, itself included.

    What waits for a planner's slice waits for every task of the slice.
    """
    waiting: dict[TaskId, list[TaskId]] = {}
    for task in state.tasks.values():
        for needed in (*task.spec.depends_on, *task.spec.after):
            waiting.setdefault(needed, []).append(task.spec.id)
    lengths: dict[TaskId, int] = {}
    for name in state.tasks:
        _measure_chain(state, waiting, lengths, name)
    return lengths


def _measure_chain(
    state: RunState, waiting: Mapping[TaskId, list[TaskId]], lengths: dict[TaskId, int], name: TaskId
) -> None:
    """Note the length of a task's chain, after those of all that follow it; without recursion, as chains are long."""
    stack = [name]
    while stack:
        current = stack[-1]
        if current in lengths:
            stack.pop()
            continue
        following = [other for other in _list_following(state, waiting, current) if other in state.tasks]
        unknown = [other for other in following if other not in lengths and other not in stack]
        if unknown:
            stack += unknown
            continue
        lengths[current] = 1 + max((lengths.get(other, 0) for other in following), default=0)
        stack.pop()


def _list_following(state: RunState, waiting: Mapping[TaskId, list[TaskId]], name: TaskId) -> list[TaskId]:
    """Return the tasks that wait for a task, or for a slice that it stands in."""
    following: list[TaskId] = []
    for above in state.iterate_lineage(name):
        following += waiting.get(above, ())
    return following
