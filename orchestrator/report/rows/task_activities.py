"""Activities of tasks and what they wait for."""

from collections.abc import Mapping
from functools import cached_property

from orchestrator.domain.commands.answers import format_question_name
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import TaskId, parse_tier_task, parse_unit_id, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.report.rows.activity import Activity

ACTIVITY_BY_TASK_STATUS: Mapping[TaskStatus, Activity] = {
    TaskStatus.PLANNED: Activity.QUEUE,
    TaskStatus.RUNNING: Activity.RUN,
    TaskStatus.JUDGING: Activity.JUDGE,
    TaskStatus.QUEUED: Activity.MERGE,
    TaskStatus.PLANNING: Activity.THINK,
    TaskStatus.WAITING: Activity.RUN,
    TaskStatus.MERGED: Activity.DONE,
    TaskStatus.DONE: Activity.DONE,
    TaskStatus.REJECTED: Activity.FAIL,
    TaskStatus.BLOCKED: Activity.FAIL,
    TaskStatus.SPLIT: Activity.STOP,
    TaskStatus.CANCELLED: Activity.STOP,
    TaskStatus.UNFINISHED: Activity.FAIL,
    TaskStatus.DISCARDED: Activity.STOP,
}


class TaskActivities:
    """Looks at one state; make a new one when it has changed."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def get_activity(self, task: TaskState) -> Activity:
        """Return the activity of a task; only conversations can stall."""
        if task.status.is_terminal:
            return ACTIVITY_BY_TASK_STATUS[task.status]
        if self._state.ended is not None:
            return Activity.STOP
        if task.spec.id in self.questions_by_task:
            return Activity.ASK
        if task.status == TaskStatus.JUDGING and task.spec.id in self.checks_by_task:
            return Activity.TEST
        if task.status == TaskStatus.JUDGING and task.verdict is not None:
            return Activity.RETRY
        if task.status == TaskStatus.PLANNED and task.retry is not None:
            return Activity.RETRY
        if self._state.user_pause and task.status == TaskStatus.PLANNED:
            return Activity.PAUSE
        return ACTIVITY_BY_TASK_STATUS[task.status]

    def list_unmet_dependencies(self, task: TaskState) -> tuple[TaskId, ...]:
        """Return the tasks that have to land before it begins and have not."""
        if task.status != TaskStatus.PLANNED:
            return ()
        tasks = self._state.tasks
        return tuple(name for name in task.spec.depends_on if name not in tasks or not tasks[name].status.is_reached)

    def is_blocked(self, task: TaskState) -> bool:
        """Return True if it cannot go on by itself: a task must land, a person must answer, or it was given up."""
        is_over = task.status == TaskStatus.BLOCKED or task.cause == EndCause.DEPENDENCY
        return is_over or self.get_activity(task) == Activity.ASK or bool(self.list_unmet_dependencies(task))

    @cached_property
    def questions_by_task(self) -> Mapping[TaskId, str]:
        """The tasks that wait for a person, each with the names of the question: `q1 landing/parser@1`."""
        found: dict[TaskId, str] = {}
        plans: dict[str, str] = {}
        for one in self._state.pending_approvals:
            approval, name = one.approval, format_question_name(one)
            if approval.matter in ("tier", "policy"):
                found[parse_tier_task(approval.subject)] = name
            elif approval.matter == "landing" and parse_unit_id(approval.subject):
                found[parse_unit_task(approval.subject)] = name
            elif approval.matter == "plan":
                plans[approval.item] = name
        for task in self._state.tasks.values() if plans else ():
            if task.spec.approval in plans:
                found[task.spec.id] = plans[task.spec.approval]
        return found

    @cached_property
    def checks_by_task(self) -> Mapping[TaskId, tuple[str, ...]]:
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
