"""Build the report of a task for planners, judges and workers who build on it."""

from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.ports.roles import TaskReport


def build_task_report(state: TaskState) -> TaskReport:
    """Return what planners, judges and workers who build on it are told of a task."""
    return TaskReport(
        task=state.spec,
        status=state.status,
        reason=state.reason,
        cause=state.cause,
        handoff=state.handoff,
        paths=state.candidate.paths if state.candidate else (),
        kept=state.candidate.ref if state.candidate and state.status != TaskStatus.MERGED else "",
        attempts=len(state.attempts),
    )
