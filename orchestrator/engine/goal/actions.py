"""The actions that a goal's run can begin."""

from dataclasses import dataclass

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus


@dataclass(frozen=True)
class PlanRound:
    """Let a planner plan: for the first time, again, or where it was cut off."""

    task: TaskId


@dataclass(frozen=True)
class StartAttempt:
    """Begin the next attempt at a task."""

    task: TaskId


@dataclass(frozen=True)
class ContinueAttempt:
    """Go on with an attempt that was cut off."""

    task: TaskId


@dataclass(frozen=True)
class JudgeAttempt:
    """Give a verdict on the latest attempt."""

    task: TaskId


@dataclass(frozen=True)
class VerifyTask:
    """Have tests written for a task, beside its worker: the verdict waits for them, nothing else does."""

    task: TaskId


@dataclass(frozen=True)
class EndTask:
    """End a task without further work; `cause` is None where an old journal does not name it."""

    task: TaskId
    status: TaskStatus
    reason: str
    cause: EndCause | None = None


@dataclass(frozen=True)
class CloseSlice:
    """End a planner's slice with the handoff that it gave while its last tasks were at work."""

    task: TaskId


@dataclass(frozen=True)
class ChooseRival:
    """Choose which of these tasks lands, all of which try the same as `first` and passed; one alone needs no judge."""

    first: TaskId
    rivals: tuple[TaskId, ...]


@dataclass(frozen=True)
class LandTasks:
    """Land what is queued, in this order."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True)
class RecordBaseline:
    """Run the gate on the base, beside the first planner."""


_TaskAction = PlanRound | StartAttempt | ContinueAttempt | JudgeAttempt | VerifyTask | EndTask | CloseSlice
Action = _TaskAction | ChooseRival | LandTasks | RecordBaseline


def get_action_tasks(action: Action) -> tuple[TaskId, ...]:
    """Return the tasks that an action is about."""
    if isinstance(action, RecordBaseline):
        return ()
    if isinstance(action, LandTasks):
        return action.tasks
    if isinstance(action, ChooseRival):
        return action.rivals
    return (action.task,)
