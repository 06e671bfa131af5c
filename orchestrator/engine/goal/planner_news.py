"""Find the news that planners have not been told of, and the planners that wait until more has gathered."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.domain.ids import TaskId
from orchestrator.domain.ownership.claims import list_own_contradictions
from orchestrator.domain.ownership.decisions import Decision, list_contradictions
from orchestrator.domain.run.rivals import is_outdone, list_rivals
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus


class PlannerOutlook(NamedTuple):
    """The facts by which a planner that waits is asked again.

    `is_quiet`: no task of it is under way. `is_contradicted`: decisions below it contradict each other that did not
    when its last round began. `has_news`: tasks of it have ended since then; `has_failures` if one of these was not
    reached, `has_concerns` if one of them concerns a planner that needed nothing more.
    """

    is_quiet: bool
    is_contradicted: bool
    has_news: bool
    has_failures: bool
    has_concerns: bool

    def can_gather(self, task: TaskState) -> bool:
        """Return True if the planner has news of which nothing is urgent: it is asked when more has gathered."""
        return task.status == TaskStatus.WAITING and not task.is_finished and self.has_news and not self.is_quiet


def assess_planner(state: RunState, task: TaskState) -> PlannerOutlook:
    """Return the outlook of a planner, from all of its tasks."""
    news = [child for child in state.iterate_children(task.spec.id) if _is_news(state, task.seen_ends, child)]
    own = list_own_contradictions(state, task.spec.id)
    return PlannerOutlook(
        is_quiet=not has_tasks_under_way(state, task),
        is_contradicted=any(one.id not in task.seen_contradictions for one in own),
        has_news=bool(news),
        has_failures=not all(child.status.is_reached for child in news),
        has_concerns=any(map(_concerns_planner, news)),
    )


def _is_news(state: RunState, seen_ends: int, child: TaskState) -> bool:
    """Return True if a task has ended since so many ends; a rival that was outdone is no news."""
    is_new = child.end_number > seen_ends and child.status.is_terminal
    return is_new and not is_outdone(state, child)


def has_tasks_under_way(state: RunState, task: TaskState) -> bool:
    """Return True if a task of a planner has not ended."""
    return state.task_index.count_live_children(task.spec.id) > 0


def _concerns_planner(ended: TaskState) -> bool:
    """Return True if the end of a task concerns a planner that needed nothing more."""
    if not ended.status.is_reached:
        return True
    return ended.handoff is not None and bool(ended.handoff.remaining or ended.handoff.concerns)


class _News:
    """The news of one planner since so many ends of tasks."""

    def __init__(self, seen_ends: int) -> None:
        self.seen_ends = seen_ends
        self.ended: set[TaskId] = set()
        self.failed: set[TaskId] = set()
        self.concerning: set[TaskId] = set()

    def note_child(self, state: RunState, name: TaskId, child: TaskState | None) -> None:
        """Take in a task as it is now; None if it is gone."""
        is_news = child is not None and _is_news(state, self.seen_ends, child)
        for names, is_held in (
            (self.ended, is_news),
            (self.failed, is_news and child is not None and not child.status.is_reached),
            (self.concerning, is_news and child is not None and _concerns_planner(child)),
        ):
            if is_held:
                names.add(name)
            else:
                names.discard(name)


class PlannerOutlooks:
    """The outlooks of all planners, kept up to date by the changes of tasks and of what was decided."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._news: dict[TaskId, _News] = {}
        self._register: tuple[Decision, ...] = ()
        self._contradictions: dict[TaskId, frozenset[str]] = {}

    def note_task(self, name: TaskId, parent: TaskId | None) -> None:
        """Take in that a task has changed, or is gone: whether it is news, and each of those that try the same."""
        news, task = self._news.get(parent) if parent is not None else None, self._state.tasks.get(name)
        if news is None:
            return
        news.note_child(self._state, name, task)
        if task is not None and task.spec.rival_of is not None:
            for rival in list_rivals(self._state, task):
                news.note_child(self._state, rival.spec.id, rival)

    def take_register(self) -> Iterator[TaskId]:
        """Take in what was decided since, and yield the planners who have other contradictions to settle."""
        if self._state.register is self._register:
            return
        self._register = self._state.register
        found: dict[TaskId, set[str]] = {}
        for one in list_contradictions(self._register):
            found.setdefault(one.planner, set()).add(one.id)
        known, self._contradictions = self._contradictions, {name: frozenset(ids) for name, ids in found.items()}
        for planner in known.keys() | found.keys():
            if known.get(planner) != self._contradictions.get(planner):
                yield planner

    def assess_planner(self, task: TaskState) -> PlannerOutlook:
        """Return the outlook of a planner; all of its tasks are looked at only once for each of its rounds."""
        name = task.spec.id
        news = self._news.get(name)
        if news is None or news.seen_ends != task.seen_ends:
            news = self._news[name] = _News(task.seen_ends)
            for child in self._state.iterate_children(name):
                news.note_child(self._state, child.spec.id, child)
        return PlannerOutlook(
            is_quiet=not has_tasks_under_way(self._state, task),
            is_contradicted=not self._contradictions.get(name, frozenset()) <= task.seen_contradictions,
            has_news=bool(news.ended),
            has_failures=bool(news.failed),
            has_concerns=bool(news.concerning),
        )


class NewsTimer:
    """Tells which planners have had news for long enough. It knows nothing but times; a resume begins it anew."""

    def __init__(self) -> None:
        self._since_s: dict[TaskId, float] = {}
        """The planners that wait, the longest first."""
        self.woken_planners: set[TaskId] = set()
        """The planners that have waited for long enough."""

    def note_news(self, planner: TaskId, now_s: float, *, has_news: bool) -> None:
        """Note if a planner has news that may gather."""
        if not has_news:
            self._since_s.pop(planner, None)
            self.woken_planners.discard(planner)
        elif planner not in self.woken_planners:
            self._since_s.setdefault(planner, now_s)

    def wake_planners(self, now_s: float, pause_s: float) -> list[TaskId]:
        """Return the planners whose oldest news has become at least `pause_s` seconds old."""
        due = []
        for planner, since_s in self._since_s.items():
            if now_s - since_s < pause_s:
                break
            due.append(planner)
        for planner in due:
            del self._since_s[planner]
        self.woken_planners.update(due)
        return due

    def get_wait_s(self, now_s: float, pause_s: float) -> float | None:
        """Return seconds until the next planner is to be woken; None if none waits for that."""
        oldest_s = next(iter(self._since_s.values()), None)
        return None if oldest_s is None else max(0.0, oldest_s + pause_s - now_s)
