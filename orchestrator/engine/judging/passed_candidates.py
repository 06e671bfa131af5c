"""The candidates whose tests have passed, in that order: what the next one is likely to land on."""

from collections.abc import Iterator

import anyio

from orchestrator.domain.ids import TaskId, UnitId, build_landing_item, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.queue.chain_composer import ComposedSteps


class PassedCandidates:
    """The order in which candidates passed in this process. Whatever it says only decides which trees are tested.

    `composed` are the steps by which waiting candidates were put together, so that none is composed for each newcomer.
    Whoever composes holds `composing`: newcomers at the same moment ask for the same steps.
    """

    def __init__(self) -> None:
        self._units: dict[UnitId, None] = {}
        self.composed: ComposedSteps = {}
        self.composing = anyio.Lock()

    def add_unit(self, unit: UnitId) -> None:
        """Note that the tests of a candidate have passed."""
        self._units[unit] = None

    def drop_unit(self, unit: UnitId) -> None:
        """Note that a candidate will not land for now."""
        self._units.pop(unit, None)

    def list_waiting(self, state: RunState, task: TaskId) -> tuple[TaskState, ...]:
        """Return the other tasks that are likely to land before a task: those in the queue, and those under review."""
        self._forget_ended(state)
        waiting = {found.unit: found for found in _iterate_waiting(state, self._units) if found.spec.id != task}
        known = [waiting.pop(unit) for unit in self._units if unit in waiting]
        return (*waiting.values(), *known)

    def _forget_ended(self, state: RunState) -> None:
        for unit in tuple(self._units):
            task = state.tasks.get(parse_unit_task(unit))
            if task is None or task.status.is_terminal:
                del self._units[unit]


def _iterate_waiting(state: RunState, passed: dict[UnitId, None]) -> Iterator[TaskState]:
    for name in state.task_index.list_with_status(TaskStatus.JUDGING, TaskStatus.QUEUED):
        task = state.tasks[name]
        is_reviewed = task.status == TaskStatus.JUDGING and task.verdict is None and task.unit in passed
        is_queued = task.status == TaskStatus.QUEUED and task.ejection is None
        answer = state.approvals.get(build_landing_item(task.unit))
        is_held = answer is not None and answer.decision != "approve"
        if (is_reviewed or is_queued) and not is_held and task.spec.rival_of is None:
            yield task
