"""Planning rounds: a planner gets its slice, or what became of its tasks, and plans or finishes."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.config.plan_limits import build_plan_limits
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import (
    PlanKept,
    PlanningEnded,
    PlanningStarted,
    PlanSubmitted,
    TaskCreated,
    TaskEnded,
)
from orchestrator.domain.ids import (
    ROOT_TASK,
    TaskId,
    build_plan_subject,
    get_task_key,
)
from orchestrator.domain.ownership.claims import (
    describe_contradiction,
    find_orders,
    list_decisions_for,
    list_own_contradictions,
)
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.criterion_status import list_criterion_statuses
from orchestrator.domain.run.plan import KeepPlan, Plan
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import CAUSE_BY_EXIT, EndCause, Handoff, Task, TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import build_run_approval
from orchestrator.engine.goal.planned_tasks import build_planned_tasks, build_replacements, build_withdrawals
from orchestrator.engine.goal.planner_news import has_tasks_under_way
from orchestrator.engine.merging.hot_files import ClashCounts, describe_clashes
from orchestrator.engine.pending_workspace import lend_pending_workspace
from orchestrator.engine.person_reviews import find_review_of_plan, list_edits_for_round
from orchestrator.engine.settled_start import read_settled_start
from orchestrator.engine.task_reports import build_task_report
from orchestrator.ports.roles import PlanningBrief, Roles, SessionFailure, TaskReport


async def run_planning_round(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Let a planner have its next round, or go on with the one that was cut off."""
    commit = await read_settled_start(context)
    state = context.state.tasks[task]
    if state.status == TaskStatus.PLANNING:
        brief = _build_brief(context, state, state.seen_ends_before)
    else:
        brief = _build_brief(context, state, state.seen_ends)  # what has landed, and no more, is in the commit
        await context.journal.append(PlanningStarted(task=task, round=state.rounds + 1))
        state = context.state.tasks[task]
    if _count_rounds_left(context, state) < 0:
        await _end_without_rounds(context, state)
        return
    given = context.state.goal.given_plan
    if given is not None and task == ROOT_TASK and state.rounds == 1:
        await _accept_plan(context, state, given, is_given=True)
        return
    async with lend_pending_workspace(context, commit, Purpose.for_planning(task)) as workspace:
        brief = _number_brief(context, state, brief).model_copy(update={"commit": commit})
        result = await roles.planner.plan_slice(brief, workspace)
    match result:
        case Plan():
            await _accept_plan(context, state, result)
        case KeepPlan():
            await context.journal.append(PlanKept(task=task, round=state.rounds, reason=result.reason))
        case Handoff():
            await _accept_handoff(context, state, result)
        case _:
            await _record_failure(context, state, result)


def _count_rounds_left(context: RunContext, state: TaskState) -> int:
    """Return how often a planner may plan after this round; below 0 it may not even now."""
    counted = state.rounds - state.uncounted_rounds
    return context.config.plan.max_rounds * context.state.goal.iteration - counted


async def _accept_handoff(context: RunContext, state: TaskState, handoff: Handoff) -> None:
    """End a planner's slice, or note that only what is at work is waited for."""
    task = state.spec.id
    if has_tasks_under_way(context.state, state):
        await context.journal.append(PlanKept(task=task, round=state.rounds, handoff=handoff))
    else:
        await context.journal.append(PlanningEnded(task=task, round=state.rounds, handoff=handoff))


async def close_slice(context: RunContext, task: TaskId) -> None:
    """End a slice with the handoff that its planner gave while the last of its tasks were at work."""
    state = context.state.tasks[task]
    handoff = state.handoff or Handoff(summary="all of it has ended")
    await context.journal.append(PlanningEnded(task=task, round=state.rounds, handoff=handoff))


async def _record_failure(context: RunContext, state: TaskState, failure: SessionFailure) -> None:
    """End a slice whose planner gave no result; while tasks of it are at work, leave its plan as it is."""
    if has_tasks_under_way(context.state, state):
        reason = f"its planner ended {failure.exit}: {failure.detail}"
        await context.journal.append(PlanKept(task=state.spec.id, round=state.rounds, reason=reason))
    else:
        await context.journal.append(_build_failure(state.spec.id, failure))


def _build_failure(task: TaskId, result: SessionFailure) -> TaskEnded:
    """Return the end of a slice whose planner gave no plan; what a model or its provider failed at rejects nothing."""
    cause = CAUSE_BY_EXIT[result.exit]
    return TaskEnded(
        task=task,
        status=TaskStatus.BLOCKED if cause.is_infrastructure else TaskStatus.REJECTED,
        reason=f"its planner ended {result.exit}: {result.detail}",
        cause=EndCause.PLANNER_FAILED if cause == EndCause.UNFINISHED else cause,
    )


async def _end_without_rounds(context: RunContext, state: TaskState) -> None:
    """End a slice as unfinished whose planner has planned as often as it may; not while tasks of it are at work."""
    limit = f"its planner has planned as often as it may: {state.rounds - 1} rounds, the last without anything landed"
    if has_tasks_under_way(context.state, state):
        await context.journal.append(PlanKept(task=state.spec.id, round=state.rounds, reason=limit))
        return
    ended = TaskEnded(
        task=state.spec.id,
        status=TaskStatus.UNFINISHED,
        reason=f"{limit} (plan.max_rounds); have it planned again: orchestrate retry",
        cause=EndCause.OUT_OF_ROUNDS,
    )
    await context.journal.append(ended)


async def _accept_plan(context: RunContext, state: TaskState, plan: Plan, *, is_given: bool = False) -> None:
    """Record a plan with its tasks, and ask about it where plans are reviewed; one that a person gave is approved."""
    orders = find_orders(plan, context.state, state.spec.id)
    tasks = build_planned_tasks(state.spec, plan, orders, context.state)
    asked = None
    if not is_given:
        asked = _build_question(context, state, plan, tasks)
    if asked is not None:
        tasks = [task.model_copy(update={"approval": asked.item}) for task in tasks]
    submitted = PlanSubmitted(task=state.spec.id, round=state.rounds, plan=plan)
    created = [TaskCreated(task=task.id, spec=task) for task in tasks]
    if asked is not None:  # what the plan takes back falls away with the answer, see `plan_answers`
        await context.journal.append(submitted, *created, ApprovalRequested(approval=asked))
        return
    withdrawn = build_withdrawals(context.state, state.spec.id, plan)
    await context.journal.append(
        submitted, *withdrawn, *created, *build_replacements(context.state, state.spec.id, plan)
    )


def _build_question(context: RunContext, state: TaskState, plan: Plan, tasks: Sequence[Task]) -> Approval | None:
    """Return what is to be asked before the tasks of a plan begin; None when they may begin at once."""
    settings = context.config.approval
    if settings.mode != "review" or len(tasks) <= settings.max_tasks:
        return None
    subject, title = build_plan_subject(state.spec.id, state.rounds), f"the plan of {state.spec.id}: {len(tasks)} tasks"
    detail = [f"{task.id}: {task.title}" for task in tasks]
    detail += [f"takes back {one.key}: {one.reason}" for one in plan.cancel]
    return build_run_approval(context, "plan", subject, title, detail, plan=plan)


def build_root_task(goal: str) -> Task:
    """Return the root planner's own task."""
    return Task(id=ROOT_TASK, parent=None, depth=0, kind="branch", title="The whole goal", outcome=goal)


def _number_brief(context: RunContext, state: TaskState, brief: PlanningBrief) -> PlanningBrief:
    """Return a brief with what follows from the number of the round that has begun."""
    numbered = {"round": state.rounds, "rounds_left": _count_rounds_left(context, state)}
    numbered["has_baseline"] = state.began_with_baseline
    review, edits = find_review_of_plan(context.state, state), list_edits_for_round(context.state, state)
    return brief.model_copy(update=numbered | {"review": review, "edits": edits})


class _Reports(NamedTuple):
    """The tasks of a planner as it is told of them; `taken` are the keys of those that it does not see any more."""

    ended: tuple[TaskReport, ...]
    under_way: tuple[TaskReport, ...]
    taken: tuple[str, ...]


def _collect_reports(context: RunContext, state: TaskState, seen_ends: int) -> _Reports:
    """Return the reports of a planner's tasks; what ended after so many ends is news to it.

    Of tasks under way it is told only whether they have begun: how far they are changes from moment to moment.
    """
    run, clashes, freeze_after = context.state, ClashCounts(context.state), context.config.merge.freeze_after
    ended, under_way, taken = list[TaskReport](), list[TaskReport](), list[str]()
    for child in run.iterate_children(state.spec.id):
        if child.spec.id in run.goal.hidden_tasks:
            taken.append(get_task_key(child.spec.id))
            continue
        told = tuple(describe_clashes(clashes, child, freeze_after))
        report = build_task_report(child).model_copy(update={"clashes": told})
        if child.status.is_terminal:
            ended.append(report.model_copy(update={"is_news": child.end_number > seen_ends}))
        else:
            has_begun = bool(child.attempts) or child.rounds > 0
            status = TaskStatus.RUNNING if has_begun else TaskStatus.PLANNED
            under_way.append(report.model_copy(update={"status": status}))
    return _Reports(tuple(ended), tuple(under_way), tuple(taken))


def _build_brief(context: RunContext, state: TaskState, seen_ends: int) -> PlanningBrief:
    """Return what a planner is told of its slice as it is now."""
    run, reports = context.state, _collect_reports(context, state, seen_ends)
    return PlanningBrief(
        task=state.spec,
        goal=run.run.goal,
        contract=run.goal.contract or Contract(criteria=()),
        round=state.rounds,
        limits=build_plan_limits(run, context.config, state),
        reports=reports.ended,
        under_way=reports.under_way,
        taken=reports.taken,
        rationales=state.rationales,
        decisions=tuple(list_decisions_for(run, state.spec.id, state.spec.paths)),
        contradictions=tuple(map(describe_contradiction, list_own_contradictions(run, state.spec.id))),
        reasons=run.goal.iteration_reasons if state.spec.id == ROOT_TASK else (),
        iteration=run.goal.iteration,
        met=tuple(one.criterion.id for one in list_criterion_statuses(run) if one.was_met_on_base),
    )
