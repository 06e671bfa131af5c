"""The check of a plan that a person approves in the place of one that waits, against the run as it is by then."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator.domain.ids import TaskId, get_task_key, parse_plan_task
from orchestrator.domain.ownership.claims import check_claims
from orchestrator.domain.planning.plan_edits import list_unchanged_keys
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.earlier_tasks import list_earlier_tasks
from orchestrator.domain.run.plan import Plan, PlanLimits, PlanProblem, check_plan
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.tables.task_index import TaskTable


def find_edit_problems(state: RunState, question: Approval, plan: Plan, limits: PlanLimits) -> tuple[PlanProblem, ...]:
    """Return why a plan may not be carried out in the place of the one that a question is about; empty if it may.

    It obeys the same rules as a planner's. What has begun of the proposed plan, or is depended on, has to stay.
    """
    if not plan.tasks and not plan.cancel:
        return (PlanProblem("", "the plan holds no task and takes none back: answer no instead (orchestrate reject)"),)
    planner, asked = parse_plan_task(question.subject), list_questioned_tasks(state, question)
    others = leave_out_tasks(state, asked)
    return (
        *check_plan(plan, limits, list_earlier_tasks(others, planner)),
        *(PlanProblem("", words) for words in check_claims(plan, others, planner)),
        *_check_begun(state, question, plan, asked),
        *_check_followers(others, plan, asked),
    )


def list_questioned_tasks(state: RunState, question: Approval) -> tuple[TaskId, ...]:
    """Return the tasks that wait for the answer to a question about a plan, rivals included."""
    return tuple(state.task_index.sort_by_place(state.task_index.asked.get(question.item, ())))


def get_draft_key(task: TaskState) -> str:
    """Return the key of the draft that a task was made of; rivals were made of that of their first."""
    return get_task_key(task.spec.rival_of or task.spec.id)


def leave_out_tasks(state: RunState, names: Iterable[TaskId]) -> RunState:
    """Return a copy of a state as if these tasks did not exist."""
    tasks = dict(state.tasks)
    for name in names:
        del tasks[name]
    return replace(state, tasks=TaskTable(tasks))


def _check_begun(state: RunState, question: Approval, plan: Plan, asked: Iterable[TaskId]) -> Iterator[PlanProblem]:
    """Yield tasks that have begun, as a person had them tried, and that the plan changes or drops."""
    unchanged = list_unchanged_keys(question.plan, plan) if question.plan else frozenset[str]()
    for name in asked:
        task = state.tasks[name]
        key = get_draft_key(task)
        if (task.attempts or task.rounds) and key not in unchanged:
            yield PlanProblem(key, f"task {key!r} has begun meanwhile ({task.status.word}): leave it as it was planned")


def _check_followers(others: RunState, plan: Plan, asked: Iterable[TaskId]) -> Iterator[PlanProblem]:
    """Yield tasks that the plan drops while others wait for them."""
    kept = {draft.key for draft in plan.tasks}
    for name in asked:
        key = get_task_key(name)
        followers = [one for one in others.task_index.list_followers(name) if name in others.tasks[one].spec.depends_on]
        live = [one for one in followers if not others.tasks[one].status.is_terminal]
        if key not in kept and live:
            yield PlanProblem(key, f"task {key!r} is gone from the plan, and {', '.join(live)} depends on it: keep it")
