"""Where tasks stand, in the few words that a dashboard has glyphs for, and what they wait for."""

from collections.abc import Mapping
from functools import cached_property

from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import TaskId, UnitId
from orchestrator.domain.state import RunState, TaskState, unit_task
from orchestrator.domain.task import EndCause, TaskStatus
from orchestrator.report.glyphs import Doing

_DOING: Mapping[TaskStatus, Doing] = {
    TaskStatus.PLANNED: Doing.QUEUE,
    TaskStatus.RUNNING: Doing.RUN,
    TaskStatus.JUDGING: Doing.JUDGE,
    TaskStatus.QUEUED: Doing.MERGE,
    TaskStatus.PLANNING: Doing.THINK,
    TaskStatus.WAITING: Doing.RUN,
    TaskStatus.MERGED: Doing.DONE,
    TaskStatus.DONE: Doing.DONE,
    TaskStatus.REJECTED: Doing.FAIL,
    TaskStatus.BLOCKED: Doing.FAIL,
    TaskStatus.SPLIT: Doing.STOP,
    TaskStatus.CANCELLED: Doing.STOP,
}


class Standing:
    """Looks at one state; make a new one when it has changed."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def doing(self, task: TaskState) -> Doing:
        """What it is doing; whether it stalls is seen of conversations only."""
        if task.status.is_terminal:
            return _DOING[task.status]
        if self._state.ended is not None:
            return Doing.STOP
        if task.spec.id in self.asking:
            return Doing.ASK
        if task.status == TaskStatus.JUDGING and task.spec.id in self.testing:
            return Doing.TEST
        if task.status == TaskStatus.JUDGING and task.verdict is not None:
            return Doing.RETRY
        if task.status == TaskStatus.PLANNED and task.retry is not None:
            return Doing.RETRY
        if self._state.held and task.status == TaskStatus.PLANNED:
            return Doing.PAUSE
        return _DOING[task.status]

    def needs(self, task: TaskState) -> tuple[TaskId, ...]:
        """What has to land before it begins and has not."""
        if task.status != TaskStatus.PLANNED:
            return ()
        tasks = self._state.tasks
        return tuple(name for name in task.spec.depends_on if name not in tasks or not tasks[name].status.is_reached)

    def is_blocked(self, task: TaskState) -> bool:
        """Whether it cannot go on by itself: something must land first, someone must answer, or it was given up."""
        is_over = task.status == TaskStatus.BLOCKED or task.cause == EndCause.DEPENDENCY
        return is_over or self.doing(task) == Doing.ASK or bool(self.needs(task))

    @cached_property
    def asking(self) -> Mapping[TaskId, str]:
        """The tasks that wait for a person, each with the question's item."""
        found: dict[TaskId, str] = {}
        plans = set()
        for one in self._state.waiting:
            approval = one.approval
            if approval.matter == "tier":
                found[TaskId(approval.subject.rpartition("/")[0])] = approval.item
            elif approval.matter == "landing" and "@" in approval.subject:
                found[unit_task(UnitId(approval.subject))] = approval.item
            elif approval.matter == "plan":
                plans.add(approval.item)
        for task in self._state.tasks.values() if plans else ():
            if task.spec.approval in plans:
                found[task.spec.id] = task.spec.approval
        return found

    @cached_property
    def testing(self) -> Mapping[TaskId, tuple[str, ...]]:
        """The tasks of whose candidates checks are running, with the checks' names."""
        checks: dict[str, tuple[str, ...]] = {}
        for intent in self._state.open_intents.values():
            if isinstance(intent, CheckStarted):
                checks[intent.tree] = (*checks.get(intent.tree, ()), intent.check)
        if not checks:
            return {}
        judged = (task for task in self._state.tasks.values() if task.status == TaskStatus.JUDGING)
        return {
            task.spec.id: checks[task.candidate.tree]
            for task in judged
            if task.candidate is not None and task.candidate.tree in checks
        }
