"""The changes that an approved plan makes as a person answers: the tasks of an edited one, and what it takes back."""

from collections.abc import Iterator

from orchestrator.config.live_config import build_effective_config
from orchestrator.config.plan_limits import build_plan_limits
from orchestrator.domain.commands.definitions import Approve, Command
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalDecided, PlanEdited
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import TaskId, parse_plan_round, parse_plan_task
from orchestrator.domain.ownership.claims import find_orders
from orchestrator.domain.planning.edit_check import (
    find_edit_problems,
    get_draft_key,
    leave_out_tasks,
    list_questioned_tasks,
)
from orchestrator.domain.planning.plan_edits import list_unchanged_keys
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.planned_tasks import build_planned_tasks, build_replacements, build_withdrawals


def explain_edit_refusal(state: RunState, command: Command) -> str:
    """Return why a plan cannot be approved as a person edited it, by the run as it is now; empty if it can.

    The question is one that waits for this answer.
    """
    if not isinstance(command, Approve) or command.plan is None:
        return ""
    question = state.find_question(command.item)
    planner = state.tasks.get(parse_plan_task(question.approval.subject)) if question else None
    if question is None or planner is None:
        return "its planner is gone"
    limits = build_plan_limits(state, build_effective_config(state), planner)
    problems = find_edit_problems(state, question.approval, command.plan, limits)
    if not problems:
        return ""
    return f"the plan does not fit the run as it is now, and {question.id} still waits: {'; '.join(problems)}"


def build_plan_events(state: RunState, decided: ApprovalDecided, edited: Plan | None = None) -> Iterator[Event]:
    """Yield what happens beside the answer to a question about a plan, before any of that is recorded.

    Plans of old journals took tasks back as they were submitted: their questions do not hold them.
    """
    question = state.approvals[decided.item].approval
    if decided.decision != "approve" or question.matter != "plan" or question.plan is None:
        return
    planner, plan = parse_plan_task(question.subject), edited or question.plan
    if planner not in state.tasks:
        return
    if plan != question.plan:
        yield from _build_edit_events(state, question, question.plan, plan, decided.by)
    yield from build_withdrawals(state, planner, plan)
    yield from build_replacements(state, planner, plan)


def _build_edit_events(state: RunState, question: Approval, proposed: Plan, plan: Plan, by: str) -> Iterator[Event]:
    planner, unchanged = parse_plan_task(question.subject), list_unchanged_keys(proposed, plan)
    withdrawn = list[TaskId]()
    for name in list_questioned_tasks(state, question):
        if get_draft_key(state.tasks[name]) not in unchanged:
            withdrawn.append(name)
    yield PlanEdited(
        task=planner,
        round=parse_plan_round(question.subject),
        by=by,
        plan=plan,
        proposed=proposed,
        withdrawn=tuple(withdrawn),
    )
    fresh = plan.model_copy(update={"tasks": tuple(draft for draft in plan.tasks if draft.key not in unchanged)})
    others = leave_out_tasks(state, withdrawn)
    orders = find_orders(fresh, others, planner)
    for task in build_planned_tasks(state.tasks[planner].spec, fresh, orders, others):
        yield TaskCreated(task=task.id, spec=task.model_copy(update={"approval": question.item}))
