"""Planning rounds: a planner gets its slice, or what became of its tasks, and plans or finishes."""

from collections.abc import Sequence

from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import PlanningEnded, PlanningStarted, PlanSubmitted, TaskCreated, TaskEnded
from orchestrator.domain.ids import ROOT_TASK, Purpose, TaskId, build_child_task_id, build_plan_subject, get_task_key
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.criterion_status import list_criterion_statuses
from orchestrator.domain.run.plan import Plan, PlanLimits
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import CAUSE_BY_EXIT, EndCause, Handoff, Task, TaskDraft, TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import build_run_approval
from orchestrator.engine.person_reviews import find_review_of_plan
from orchestrator.ports.roles import PlanningBrief, Roles, SessionFailure, TaskReport


async def run_planning_round(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Let a planner have its next round, or go on with the one that was cut off."""
    state = context.state.tasks[task]
    if state.status != TaskStatus.PLANNING:
        await context.journal.append(PlanningStarted(task=task, round=state.rounds + 1))
        state = context.state.tasks[task]
    counted = state.rounds - state.uncounted_rounds
    if counted > context.config.plan.max_rounds * context.state.goal.iteration:
        await _close_slice(context, state)
        return
    workspace = await context.hands.open_workspace(await context.read_start_commit(), Purpose.for_planning(task))
    try:
        result = await roles.planner.plan_slice(_build_brief(context, state), workspace)
    finally:
        await workspace.close()
    match result:
        case Plan():
            await _accept_plan(context, state, result)
        case Handoff():
            await context.journal.append(PlanningEnded(task=task, round=state.rounds, handoff=result))
        case _:
            await context.journal.append(_build_failure(task, result))


def _build_failure(task: TaskId, result: SessionFailure) -> TaskEnded:
    """Return the end of a slice whose planner gave no plan; what a model or its provider failed at rejects nothing."""
    cause = CAUSE_BY_EXIT[result.exit]
    return TaskEnded(
        task=task,
        status=TaskStatus.BLOCKED if cause.is_infrastructure else TaskStatus.REJECTED,
        reason=f"its planner ended {result.exit}: {result.detail}",
        cause=EndCause.PLANNER_FAILED if cause == EndCause.UNFINISHED else cause,
    )


async def _close_slice(context: RunContext, state: TaskState) -> None:
    """End a planner's slice when it has planned as often as it may."""
    summary = f"ended after {state.rounds - 1} rounds of planning, which is the limit"
    handoff = Handoff(summary=summary)
    await context.journal.append(PlanningEnded(task=state.spec.id, round=state.rounds, handoff=handoff))


async def _accept_plan(context: RunContext, state: TaskState, plan: Plan) -> None:
    tasks = build_planned_tasks(state.spec, plan)
    asked = _build_question(context, state, tasks)
    if asked is not None:
        tasks = [task.model_copy(update={"approval": asked.item}) for task in tasks]
    await context.journal.append(
        PlanSubmitted(task=state.spec.id, round=state.rounds, plan=plan),
        *(TaskCreated(task=task.id, spec=task) for task in tasks),
        *([ApprovalRequested(approval=asked)] if asked else ()),
    )


def _build_question(context: RunContext, state: TaskState, tasks: Sequence[Task]) -> Approval | None:
    """Return what is to be asked before the tasks of a plan begin; None when they may begin at once."""
    settings = context.config.approval
    if settings.mode != "review" or len(tasks) <= settings.max_tasks:
        return None
    subject, title = build_plan_subject(state.spec.id, state.rounds), f"the plan of {state.spec.id}: {len(tasks)} tasks"
    return build_run_approval(context, "plan", subject, title, [f"{task.id}: {task.title}" for task in tasks])


def build_planned_tasks(parent: Task, plan: Plan) -> list[Task]:
    """Return the tasks that a plan makes below its planner's own task."""
    return [_build_task(parent, draft) for draft in plan.tasks]


def _build_task(parent: Task, draft: TaskDraft) -> Task:
    return Task(
        id=build_child_task_id(parent.id, draft.key),
        parent=parent.id,
        depth=parent.depth + 1,
        depends_on=tuple(build_child_task_id(parent.id, key) for key in draft.depends_on),
        **draft.model_dump(exclude={"key", "depends_on"}),
    )


def build_root_task(goal: str) -> Task:
    """Return the root planner's own task."""
    return Task(id=ROOT_TASK, parent=None, depth=0, kind="branch", title="The whole goal", outcome=goal)


def build_task_report(state: TaskState) -> TaskReport:
    """Return what a planner is told of a task."""
    return TaskReport(
        task=state.spec,
        status=state.status,
        reason=state.reason,
        cause=state.cause,
        handoff=state.handoff,
        paths=state.candidate.paths if state.candidate else (),
        kept=state.candidate.ref if state.candidate and state.status != TaskStatus.MERGED else "",
    )


def _build_brief(context: RunContext, state: TaskState) -> PlanningBrief:
    run, settings = context.state, context.config.plan
    children = list(run.iterate_children(state.spec.id))
    visible = [child for child in children if child.spec.id not in run.goal.hidden_tasks]
    left_usd, left_tokens = Accounts(run, context.config.budget).get_remaining_budget(state.spec.id)
    return PlanningBrief(
        task=state.spec,
        goal=run.run.goal,
        contract=run.goal.contract or Contract(criteria=()),
        round=state.rounds,
        limits=PlanLimits(
            depth=state.spec.depth,
            max_depth=settings.max_depth,
            max_children=settings.max_children,
            variants=tuple(sorted(context.config.roles.worker.variants)),
            left_usd=left_usd,
            left_tokens=left_tokens,
            has_prices=not run.spend.total.unpriced_calls,
        ),
        reports=tuple(map(build_task_report, visible)),
        taken=tuple(get_task_key(child.spec.id) for child in children),
        reasons=run.goal.iteration_reasons if state.spec.id == ROOT_TASK else (),
        iteration=run.goal.iteration,
        review=find_review_of_plan(run, state),
        met=tuple(one.criterion.id for one in list_criterion_statuses(run) if one.was_met_on_base),
    )
