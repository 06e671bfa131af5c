"""The tasks that a plan makes, and those of earlier plans that it takes back or replaces."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.event import Event
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import TaskEnded, TaskReplaced
from orchestrator.domain.ids import TaskId, build_child_task_id, choose_free_name
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.rivals import find_chosen, list_rivals
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, Task, TaskDraft, TaskStatus

NO_ORDERS: Mapping[str, tuple[TaskId, ...]] = {}


def build_planned_tasks(
    parent: Task, plan: Plan, orders: Mapping[str, tuple[TaskId, ...]] = NO_ORDERS, run: RunState | None = None
) -> list[Task]:
    """Return the tasks that a plan makes below its planner's own task, rivals included.

    `orders` name tasks that go first, by key. `run` has the tasks of earlier plans.
    """
    run = run or RunState()
    taken = {*run.tasks, *(build_child_task_id(parent.id, draft.key) for draft in plan.tasks)}
    tasks = []
    for draft in plan.tasks:
        task = _build_task(parent, draft, orders.get(draft.key, ()), run)
        if draft.best_of > 1:
            task = task.model_copy(update={"rival_of": task.id})
        tasks.append(task)
        for _ in range(1, draft.best_of):
            name = TaskId(choose_free_name(task.id, taken))
            taken.add(name)
            tasks.append(task.model_copy(update={"id": name}))
    return tasks


def build_withdrawals(run: RunState, parent: TaskId, plan: Plan) -> Iterator[Event]:
    """Yield the ends of tasks that a plan takes back; one that has begun since it was checked goes on."""
    for withdrawal in plan.cancel:
        for task in _list_with_rivals(run, parent, withdrawal.key):
            if task.status.is_terminal:
                continue
            if task.status == TaskStatus.PLANNED and not task.attempts:
                reason = f"its planner took it back: {withdrawal.reason}"
                end = {"status": TaskStatus.CANCELLED, "reason": reason, "cause": EndCause.WITHDRAWN}
                yield TaskEnded(task=task.spec.id, **end)
            else:
                text = f"{task.spec.id} had begun when its planner took it back, and goes on"
                yield Noticed(level="info", text=text, code=NoticeCode.TASK_GOES_ON, subject=task.spec.id)


def build_replacements(run: RunState, parent: TaskId, plan: Plan) -> Iterator[Event]:
    """Yield that tasks of a plan take the places of others; one that has begun since goes on beside its successor."""
    for draft in plan.tasks:
        for old in _list_with_rivals(run, parent, draft.replaces):
            if old.status.is_terminal or (old.status == TaskStatus.PLANNED and not old.attempts):
                yield TaskReplaced(task=old.spec.id, by=build_child_task_id(parent, draft.key))
            else:
                text = f"{old.spec.id} had begun when its planner replaced it, and goes on"
                yield Noticed(level="info", text=text, code=NoticeCode.TASK_GOES_ON, subject=old.spec.id)


def _list_with_rivals(run: RunState, parent: TaskId, key: str | None) -> Sequence[TaskState]:
    """Return the task of this key, with its rivals if it is the first of them; none if no plan had it."""
    task = run.tasks.get(build_child_task_id(parent, key)) if key else None
    if task is None:
        return ()
    return list_rivals(run, task) if task.spec.rival_of == task.spec.id else [task]


def _build_task(parent: Task, draft: TaskDraft, after: tuple[TaskId, ...], run: RunState) -> Task:
    needed = [_find_landing_rival(run, build_child_task_id(parent.id, key)) for key in draft.depends_on]
    return Task(
        id=build_child_task_id(parent.id, draft.key),
        parent=parent.id,
        depth=parent.depth + 1,
        depends_on=tuple(needed),
        after=after,
        **draft.model_dump(exclude={"key", "depends_on", "replaces", "best_of"}),
    )


def _find_landing_rival(run: RunState, needed: TaskId) -> TaskId:
    """Return the task that was chosen in the place of one that is depended on; that one if there was no choice."""
    task = run.tasks.get(needed)
    chosen = find_chosen(list_rivals(run, task)) if task is not None else None
    return chosen.spec.id if chosen is not None else needed
