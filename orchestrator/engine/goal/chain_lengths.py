"""Measure how many tasks have to follow each task: the one for which the most waits begins first."""

import heapq
from collections.abc import Iterable, Iterator, Mapping

from orchestrator.domain.commands.goal import iterate_subtree
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState, TaskState


def compute_chain_lengths(state: RunState) -> Mapping[TaskId, int]:
    """Return, by task, the length of the longest chain of tasks that begins with it, itself included.

    What waits for a planner's slice waits for every task of the slice.
    """
    lengths: dict[TaskId, int] = {}
    for name in state.tasks:
        _measure_chain(state, lengths, name)
    return lengths


def _measure_chain(state: RunState, lengths: dict[TaskId, int], name: TaskId) -> None:
    """Note the length of a task's chain, after those of all that follow it; without recursion, as chains are long."""
    stack = [name]
    while stack:
        current = stack[-1]
        if current in lengths:
            stack.pop()
            continue
        following = _list_following(state, current)
        unknown = [other for other in following if other not in lengths and other not in stack]
        if unknown:
            stack += unknown
            continue
        lengths[current] = 1 + max((lengths.get(other, 0) for other in following), default=0)
        stack.pop()


def _list_following(state: RunState, name: TaskId) -> list[TaskId]:
    """Return the tasks that wait for a task, or for a slice that it stands in."""
    followers = state.task_index.followers
    following: list[TaskId] = []
    for above in state.iterate_lineage(name):
        following += followers.get(above, ())
    return following


def _list_needed(task: TaskState) -> tuple[TaskId, ...]:
    return (*task.spec.depends_on, *task.spec.after)


class ChainLengths:
    """The lengths of all chains, of which only those are measured again that a change can have made others.

    Tasks that wait for each other in a circle have no lengths; while there are such, all are measured at each change.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._needed: dict[TaskId, tuple[TaskId, ...]] = {}
        self._has_circle = False
        self.lengths: dict[TaskId, int] = {}

    def take_changes(self, names: Iterable[TaskId]) -> list[TaskId]:
        """Return the tasks whose lengths may be others after these tasks were added, changed or removed."""
        if not self._needed:
            return self._measure_all(names)
        touched = dict.fromkeys(touched for name in names for touched in self._iterate_touched(name))
        if not touched:
            return []
        if not self._has_circle:
            changed = self._measure_again(touched)
            if changed is not None:
                return changed
        self._has_circle = True
        self.lengths = dict(compute_chain_lengths(self._state))
        return list(self.lengths)

    def _measure_all(self, names: Iterable[TaskId]) -> list[TaskId]:
        """Measure all chains for the first time."""
        for name in names:
            if name in self._state.tasks:
                self._needed[name] = _list_needed(self._state.tasks[name])
        self.lengths = dict(compute_chain_lengths(self._state))
        self._has_circle = any(self._measure_task(name) != length for name, length in self.lengths.items())
        return list(self.lengths)

    def _measure_task(self, name: TaskId) -> int:
        following = _list_following(self._state, name)
        return 1 + max((self.lengths.get(other, 0) for other in following), default=0)

    def _iterate_touched(self, name: TaskId) -> Iterator[TaskId]:
        """Yield the tasks whose chains a change of one task may change at once; none if its place is as it was."""
        task, known = self._state.tasks.get(name), self._needed.get(name)
        needed = None if task is None else _list_needed(task)
        if needed == known:
            return
        if task is None or needed is None:
            del self._needed[name]
            self.lengths.pop(name, None)
        else:
            self._needed[name] = needed
        if task is not None and known is None:
            yield from self._iterate_slice(name)
        for other in {*(known or ()), *(needed or ())}:
            yield from self._iterate_slice(other)

    def _iterate_slice(self, name: TaskId) -> Iterator[TaskId]:
        """Yield a task and all below it: what waits for it waits for all of them."""
        if name in self._state.tasks:
            for task in iterate_subtree(self._state, self._state.tasks[name]):
                yield task.spec.id

    def _measure_again(self, touched: Iterable[TaskId]) -> list[TaskId] | None:
        """Measure tasks again, and those before them as far as lengths change; None where that has no end.

        Tasks that stand later in the plan come first, as most tasks wait for earlier ones.
        """
        place, most = self._state.task_index.get_place, len(self._state.tasks)
        pending = [(-place(name), name) for name in touched]
        heapq.heapify(pending)
        changed: dict[TaskId, None] = {}
        while pending:
            _, name = heapq.heappop(pending)
            length = self._measure_task(name)
            if length > most:
                return None
            if length != self.lengths.get(name):
                self.lengths[name] = length
                changed[name] = None
                for needed in _list_needed(self._state.tasks[name]):
                    for other in self._iterate_slice(needed):
                        heapq.heappush(pending, (-place(other), other))
        return list(changed)
