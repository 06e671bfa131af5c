"""The earlier tasks of a planner, as the rules of its next plan see them."""

from orchestrator.domain.ids import TaskId, get_task_key
from orchestrator.domain.run.plan import EarlierTask
from orchestrator.domain.run.state import RunState, TaskState


def list_earlier_tasks(run: RunState, planner: TaskId) -> tuple[EarlierTask, ...]:
    """Return the tasks that a planner has submitted so far, in order, as they stand now."""
    return tuple(map(_describe_task, run.iterate_children(planner)))


def _describe_task(state: TaskState) -> EarlierTask:
    spec = state.spec
    return EarlierTask(
        key=get_task_key(spec.id),
        status=state.status,
        has_begun=bool(state.attempts) or state.rounds > 0,
        paths=spec.paths,
        decisions=spec.decisions,
        depends_on=tuple(map(get_task_key, spec.depends_on)),
    )
