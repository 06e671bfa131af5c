"""The actions that are due, kept from one look to the next: only what has changed since is decided again.

It says the same as `schedule.list_due_actions`, which looks at every task. What it costs depends on what has changed
and on what is under way, not on how many tasks there are.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice

from orchestrator.domain.ids import TaskId, parse_tier_task, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.engine.goal import schedule
from orchestrator.engine.goal.actions import (
    Action,
    ChooseRival,
    ContinueAttempt,
    EndTask,
    PlanRound,
    StartAttempt,
    VerifyTask,
    get_action_tasks,
)
from orchestrator.engine.goal.chain_lengths import ChainLengths
from orchestrator.engine.goal.planner_news import NewsTimer, PlannerOutlooks
from orchestrator.engine.goal.schedule import ScheduleLimits
from orchestrator.engine.merging.hot_files import ClashCounts, FileQueue, list_named_files


class RankedTasks:
    """Tasks that may begin: those with the longest chains first, equal ones in plan order."""

    def __init__(self) -> None:
        self._ranks: dict[TaskId, tuple[int, int]] = {}
        self._sorted: list[tuple[tuple[int, int], TaskId]] = []

    def __contains__(self, name: TaskId) -> bool:
        """Return True if a task is among them."""
        return name in self._ranks

    def __iter__(self) -> Iterator[TaskId]:
        """Yield the tasks, the first to begin first."""
        for _, name in self._sorted:
            yield name

    def add_task(self, name: TaskId, length: int, place: int) -> None:
        """Add a task that is not among them."""
        self._ranks[name] = (-length, place)
        insort(self._sorted, (self._ranks[name], name))

    def remove_task(self, name: TaskId) -> None:
        """Remove a task, if it is among them."""
        rank = self._ranks.pop(name, None)
        if rank is not None:
            del self._sorted[bisect_left(self._sorted, (rank, name))]


class GoalSchedule:
    """The actions that are due in the run of one goal. It follows the run's state, which goes on in place."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._changed_tasks = state.watch_tasks()
        self._changed_questions = state.watch_approvals()
        self._touched: dict[TaskId, None] = dict.fromkeys(state.tasks)
        self._known: dict[TaskId, TaskState] = {}
        self._chains = ChainLengths(state)
        self._chains.take_changes(state.tasks)
        self._outlooks = PlannerOutlooks(state)
        self._timer = NewsTimer()
        self._clashes = ClashCounts(state)
        self._hot: frozenset[str] = frozenset()
        self._naming: dict[TaskId, None] = {}
        """The tasks that have not ended and name a file in which work keeps clashing."""
        self._decided_by: tuple[object, ...] = ()
        self._starts, self._rounds = RankedTasks(), RankedTasks()
        self._actions: dict[TaskId, Action] = {}
        """The actions that are due of tasks that have begun, or end without that."""
        self._verifications: dict[TaskId, VerifyTask] = {}
        self._choices: dict[TaskId, ChooseRival] = {}

    @property
    def woken_planners(self) -> AbstractSet[TaskId]:
        """The planners that have waited for long enough to be told of what landed."""
        return self._timer.woken_planners

    def get_wait_s(self, now_s: float, pause_s: float) -> float | None:
        """Return seconds until the next planner is to be woken; None if none waits for that."""
        return self._timer.get_wait_s(now_s, pause_s)

    def list_due_actions(
        self, bounds: ScheduleLimits, busy: AbstractSet[Action], now_s: float = 0.0, pause_s: float = 0.0
    ) -> list[Action]:
        """Return everything that may begin now, as `schedule.list_due_actions` does.

        Planners whose tasks landed are told of that `pause_s` seconds later; `chain_lengths` and `woken` of the bounds
        are not looked at.
        """
        bounds = replace(bounds, woken=self._timer.woken_planners)
        self._take_changes(bounds)
        self._decide_touched(bounds, now_s)
        self._touched = dict.fromkeys(self._timer.wake_planners(now_s, pause_s))
        self._decide_touched(bounds, now_s)
        if self._state.user_pause is not None:
            return []
        return [*self._select_actions(bounds, busy), *schedule.list_landing(self._state, busy)]

    # --- what has changed ------------------------------------------------------------------------------------------

    def _take_changes(self, bounds: ScheduleLimits) -> None:
        """Collect the tasks of which something else may be due than when they were looked at last."""
        names = [TaskId(str(key)) for key in self._changed_tasks.take_keys()]
        for name in names:
            self._touched.update(dict.fromkeys(self._iterate_concerned(name)))
        for item in self._changed_questions.take_keys():
            self._touched.update(dict.fromkeys(self._iterate_asked(str(item))))
        self._touched.update(dict.fromkeys(self._outlooks.take_register()))
        self._rank_again(self._chains.take_changes(names))
        hot = self._clashes.find_hot_files(bounds.freeze_after)
        decided_by = (bounds.max_attempts, bounds.verifier, hot)
        if decided_by != self._decided_by:
            self._decided_by, self._hot = decided_by, hot
            self._touched.update(dict.fromkeys(self._state.tasks))

    def _iterate_concerned(self, name: TaskId) -> Iterator[TaskId]:
        """Yield a task that has changed, and the others for which that matters."""
        task, known = self._state.tasks.get(name), self._known.pop(name, None)
        if task is not None:
            self._known[name] = task
        yield name
        either = task or known
        if either is None:
            return
        self._outlooks.note_task(name, either.spec.parent)
        if either.spec.parent is not None:
            yield either.spec.parent
        if task is not None and known is not None and task.status == known.status:
            return
        index = self._state.task_index
        for rival in (name, *index.rivals.get(either.spec.rival_of or name, ())):
            yield from index.followers.get(rival, ())

    def _iterate_asked(self, item: str) -> Iterator[TaskId]:
        """Yield the tasks that a question is about."""
        yield from self._state.task_index.asked.get(item, ())
        question = self._state.approvals.get(item)
        if question is not None:
            yield parse_unit_task(question.approval.subject)
            yield parse_tier_task(question.approval.subject)

    def _rank_again(self, names: Iterable[TaskId]) -> None:
        for name in names:
            for ranked in (self._starts, self._rounds):
                if name in ranked:
                    ranked.remove_task(name)
                    self._add_ranked(ranked, name)

    def _add_ranked(self, ranked: RankedTasks, name: TaskId) -> None:
        ranked.add_task(name, self._chains.lengths.get(name, 1), self._state.task_index.get_place(name))

    # --- what follows from it --------------------------------------------------------------------------------------

    def _decide_touched(self, bounds: ScheduleLimits, now_s: float) -> None:
        touched, self._touched = self._touched, {}
        groups = dict[TaskId, None]()
        for name in touched:
            self._forget_task(name)
            task = self._state.tasks.get(name)
            if task is None:
                self._choices.pop(name, None)
                self._timer.note_news(name, now_s, has_news=False)
                continue
            if task.spec.rival_of is not None:
                groups[task.spec.rival_of] = None
            if task.status.is_terminal:
                self._timer.note_news(name, now_s, has_news=False)
            else:
                self._decide_task(task, bounds, now_s)
        for first in groups:
            self._decide_choice(first, bounds)

    def _forget_task(self, name: TaskId) -> None:
        self._starts.remove_task(name)
        self._rounds.remove_task(name)
        self._actions.pop(name, None)
        self._verifications.pop(name, None)
        self._naming.pop(name, None)

    def _decide_task(self, task: TaskState, bounds: ScheduleLimits, now_s: float) -> None:
        name, outlook = task.spec.id, None
        if task.spec.kind == "branch":
            outlook = self._outlooks.assess_planner(task)
            self._timer.note_news(name, now_s, has_news=outlook.can_gather(task))
        action = schedule.find_next_action(self._state, task, bounds, outlook)
        if isinstance(action, StartAttempt):
            self._add_ranked(self._starts, name)
        elif isinstance(action, PlanRound):
            self._add_ranked(self._rounds, name)
        elif action is not None:
            self._actions[name] = action
        if schedule.needs_verification(task, bounds):
            self._verifications[name] = VerifyTask(name)
        if self._hot and next(list_named_files(task, self._hot), None) is not None:
            self._naming[name] = None

    def _decide_choice(self, first: TaskId, bounds: ScheduleLimits) -> None:
        task = self._state.tasks.get(first)
        choice = None
        if task is not None and task.spec.rival_of == first:
            choice = schedule.find_due_choice(self._state, task, bounds)
        if choice is None:
            self._choices.pop(first, None)
        else:
            self._choices[first] = choice

    # --- what may begin now ----------------------------------------------------------------------------------------

    def _select_actions(self, bounds: ScheduleLimits, busy: AbstractSet[Action]) -> list[Action]:
        """Return what may begin, in plan order, without what is busy and without more than may be under way."""
        busy_tasks = set(schedule.iterate_busy_tasks(busy))
        due = [action for name, action in self._actions.items() if name not in busy_tasks]
        due += [one for one in self._choices.values() if busy_tasks.isdisjoint(one.rivals)]
        due += [one for one in self._verifications.values() if one not in busy]
        if self._state.is_draining or bounds.finish_only:
            due = [action for action in due if schedule.finishes_work(self._state, action)]
        else:
            rounds = self._select_rounds(bounds, due, busy, busy_tasks)
            due = [*self._limit_work(bounds, due, busy, busy_tasks), *rounds]
        return sorted(due, key=self._get_order)

    def _get_order(self, action: Action) -> tuple[int, int]:
        """Return the place of an action: that of its task, where a choice comes first and a verifier last."""
        if isinstance(action, ChooseRival):
            return self._state.task_index.get_place(action.first), 0
        (task,) = get_action_tasks(action)
        return self._state.task_index.get_place(task), 1 + isinstance(action, VerifyTask)

    def _limit_work(
        self, bounds: ScheduleLimits, due: list[Action], busy: AbstractSet[Action], busy_tasks: set[TaskId]
    ) -> list[Action]:
        """Return what is due, with the attempts that have a place: those that go on, then the longest chains."""
        free = max(0, bounds.max_workers - sum(isinstance(action, schedule.WORK_ACTIONS) for action in busy))
        continued, kept = RankedTasks(), list[Action]()
        for action in due:
            if isinstance(action, ContinueAttempt):
                self._add_ranked(continued, action.task)
            else:
                kept.append(action)
        going_on = [ContinueAttempt(name) for name in islice(continued, free)]
        held = busy_tasks | self._find_held(busy, busy_tasks)
        begun = [StartAttempt(name) for name in _take_first(self._starts, free - len(going_on), held)]
        return [*kept, *going_on, *begun]

    def _find_held(self, busy: AbstractSet[Action], busy_tasks: set[TaskId]) -> set[TaskId]:
        """Return the tasks that wait for their turn at a file in which work keeps clashing."""
        if not self._naming:
            return set()
        index, tasks = self._state.task_index, self._state.tasks
        begun = [action.task for action in busy if isinstance(action, StartAttempt)]
        naming = dict.fromkeys((*self._naming, *begun))
        waiting = FileQueue(self._state, self._hot, begun, (tasks[name] for name in naming))
        held = set[TaskId]()
        for name in index.sort_by_place(name for name in self._naming if name in self._starts):
            if name not in busy_tasks and not waiting.admit_task(tasks[name]):
                held.add(name)
        return held

    def _select_rounds(
        self, bounds: ScheduleLimits, due: list[Action], busy: AbstractSet[Action], busy_tasks: set[TaskId]
    ) -> list[PlanRound]:
        """Return the rounds of planners that have a place, without those below whom more tasks are about to end."""
        free = max(0, bounds.max_planners - sum(isinstance(action, PlanRound) for action in busy))
        held = set(busy_tasks)
        for action in (*due, *busy):
            parent = self._state.tasks[action.task].spec.parent if isinstance(action, EndTask) else None
            if parent is not None:
                held.add(parent)
        return [PlanRound(name) for name in _take_first(self._rounds, free, held)]


def _take_first(ranked: RankedTasks, count: int, held: AbstractSet[TaskId]) -> Iterator[TaskId]:
    """Yield the first tasks that are not held back."""
    return islice((name for name in ranked if name not in held), max(0, count))
