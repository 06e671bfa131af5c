"""Find the news that planners have not been told of, and the planners that wait until more has gathered."""

from orchestrator.domain.ids import TaskId
from orchestrator.domain.ownership.claims import list_own_contradictions
from orchestrator.domain.run.rivals import is_outdone
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus


def list_news(state: RunState, task: TaskState) -> list[TaskState]:
    """Return the tasks of a planner that have ended since its last round began, without rivals that were outdone."""
    news = []
    for child in state.iterate_children(task.spec.id):
        is_new = child.end_number > task.seen_ends and child.status.is_terminal
        if is_new and not is_outdone(state, child):
            news.append(child)
    return news


def has_tasks_under_way(state: RunState, task: TaskState) -> bool:
    """Return True if a task of a planner has not ended."""
    return not all(child.status.is_terminal for child in state.iterate_children(task.spec.id))


def concerns_planner(ended: TaskState) -> bool:
    """Return True if the end of a task concerns a planner that needed nothing more."""
    if not ended.status.is_reached:
        return True
    return ended.handoff is not None and bool(ended.handoff.remaining or ended.handoff.concerns)


def has_new_contradiction(state: RunState, task: TaskState) -> bool:
    """Return True if decisions below a planner contradict each other that did not when its last round began."""
    own = list_own_contradictions(state, task.spec.id)
    return any(one.id not in task.seen_contradictions for one in own)


def list_planners_with_news(state: RunState) -> list[TaskId]:
    """Return the planners of whose tasks some have landed since their last round, while others are under way.

    Nothing of that is urgent: such a planner is asked when more has gathered.
    """
    planners = []
    for task in state.tasks.values():
        is_waiting = task.status == TaskStatus.WAITING and not task.is_finished
        if is_waiting and list_news(state, task) and has_tasks_under_way(state, task):
            planners.append(task.spec.id)
    return planners


class NewsTimer:
    """Tells which planners have had news for long enough. It knows nothing but times; a resume begins it anew."""

    def __init__(self) -> None:
        self._since_s: dict[TaskId, float] = {}

    def find_woken(self, state: RunState, now_s: float, pause_s: float) -> frozenset[TaskId]:
        """Return the planners whose oldest news is at least `pause_s` seconds old."""
        waiting = list_planners_with_news(state)
        self._since_s = {planner: self._since_s.get(planner, now_s) for planner in waiting}
        return frozenset(planner for planner, since_s in self._since_s.items() if now_s - since_s >= pause_s)

    def get_wait_s(self, now_s: float, pause_s: float) -> float | None:
        """Return seconds until the next planner is to be woken; None if none waits for that."""
        waits = [since_s + pause_s - now_s for since_s in self._since_s.values()]
        later = [wait_s for wait_s in waits if wait_s > 0]
        return min(later, default=None)
