"""The changes that each kind of event makes to the state of its run; `fold.migration` has those of migrations."""

from datetime import timedelta
from functools import singledispatch

from orchestrator.domain.commands.goal import apply_command, collect_granted_criteria, rejudge_run
from orchestrator.domain.commands.migration import request_revision
from orchestrator.domain.event import external, forge, landing, people, policy, run, work
from orchestrator.domain.event.base import Event
from orchestrator.domain.fold.memory import apply_memory_event
from orchestrator.domain.fold.migration import apply_migration_event, record_landed_shards
from orchestrator.domain.fold.old_journals import derive_notice_code
from orchestrator.domain.fold.planning import apply_planning_event
from orchestrator.domain.fold.record_updates import (
    add_attempt,
    add_task_grants,
    get_named_task,
    update_approval,
    update_session,
    update_task,
    withdraw_plan,
)
from orchestrator.domain.fold.rewind import apply_rewind, forget_plans
from orchestrator.domain.fold.spend import record_failure_cost, record_reply_cost, shift_deadlines
from orchestrator.domain.fold.verification import apply_verification_event
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.ids import parse_unit_task
from orchestrator.domain.ownership.decisions import record_decisions
from orchestrator.domain.recipe.model import read_recorded_recipe
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.contract import freeze_contract
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.width import WidthCause
from orchestrator.domain.sandbox.policy_violation import MAX_VIOLATIONS, find_policy_violations


@singledispatch
def apply_run_event(event: Event, state: RunState) -> None:
    """Change a state that the caller owns as one event says. Events that only tell a story change nothing.

    Raises as `fold_events` does.
    """


# --- the run -------------------------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: run.RunStarted, state: RunState) -> None:
    state.started = event
    if event.recipe is not None:
        state.migration.recipe = read_recorded_recipe(event.recipe)


@apply_run_event.register
def _(event: run.RepositoryMoved, state: RunState) -> None:
    state.started = copy_with_changes(state.run, repository=event.repository)


@apply_run_event.register
def _(event: run.EngineStarted, state: RunState) -> None:
    state.epoch = event.epoch
    state.paused = None
    state.is_draining = False


@apply_run_event.register
def _(event: run.Noticed, state: RunState) -> None:
    code, subject = event.code, event.subject
    if not code:
        code, subject = derive_notice_code(event.text)
    state.notices += (event.model_copy(update={"code": code, "subject": subject}),)


@apply_run_event.register
def _(event: policy.PolicyLoaded, state: RunState) -> None:
    state.policy = event


@apply_run_event.register
def _(event: run.BaselineRecorded, state: RunState) -> None:
    unknown = [key for key in event.receipts if key not in state.receipts]
    if unknown:
        raise ValueError(f"{event.kind} names receipt {unknown[0]!r}, which was never recorded")
    state.baseline = event.receipts


@apply_run_event.register
def _(event: run.CheckFinished | run.CheckReused, state: RunState) -> None:
    state.receipts[event.receipt.key] = event.receipt


@apply_run_event.register
def _(event: run.FlakesSeen, state: RunState) -> None:
    state.flaky.update(event.flaky)


@apply_run_event.register
def _(event: run.ContractFrozen, state: RunState) -> None:
    state.goal.contract = freeze_contract(state.goal.contract, event.contract, collect_granted_criteria(state))


@apply_run_event.register
def _(event: run.IterationStarted, state: RunState) -> None:
    state.goal.iteration = event.number
    state.goal.iteration_reasons = event.reasons
    if event.forget:
        forget_plans(state)


@apply_run_event.register
def _(event: run.IterationJudged, state: RunState) -> None:
    if event.again is None or event.again == state.goal.rejudge_count:
        state.goal.iterations = (*state.goal.iterations[: event.number - 1], event.verdict)
        state.goal.judged_head = event.head


@apply_run_event.register
def _(_event: run.IterationReopened, state: RunState) -> None:
    rejudge_run(state)


@apply_run_event.register
def _(event: run.RunDraining, state: RunState) -> None:
    state.is_draining = True


@apply_run_event.register
def _(event: run.RunPaused, state: RunState) -> None:
    state.paused = event
    state.forge_checks_since = None


@apply_run_event.register
def _(event: run.ClockJumped, state: RunState) -> None:
    state.earlier_s -= event.by_s
    shift_deadlines(state, timedelta(seconds=event.by_s))


@apply_run_event.register
def _(event: run.PrOpened, state: RunState) -> None:
    state.pr = event
    if state.forge_checks and (state.forge_checks.ref, state.forge_checks.commit) != (event.ref, event.head):
        state.forge_checks, state.forge_checks_since = None, None
    if event.group:
        state.migration.prs[event.group] = event
        wanted = state.migration.requested_publications
        state.migration.requested_publications = tuple(group for group in wanted if group != event.group)


@apply_run_event.register
def _(event: forge.PrMerging, state: RunState) -> None:
    state.merging = event


@apply_run_event.register
def _(event: forge.PrMerged, state: RunState) -> None:
    state.merged = event


@apply_run_event.register
def _(event: forge.PrClosed, state: RunState) -> None:
    state.pr, state.forge_checks, state.forge_checks_since = None, None, None


@apply_run_event.register
def _(event: run.RunEnded, state: RunState) -> None:
    state.ended = event
    state.migration.requested_publications = ()


# --- people --------------------------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: people.CommandTaken, state: RunState) -> None:
    state.taken_commands[event.key] = event.refused
    if not event.refused:
        apply_command(state, event.command, event.by)


@apply_run_event.register
def _(event: people.ApprovalRequested, state: RunState) -> None:
    known = state.approvals.get(event.approval.item)
    number = known.number if known else len(state.approvals) + 1
    state.approvals[event.approval.item] = ApprovalState(approval=event.approval, number=number)


@apply_run_event.register
def _(event: people.ApprovalDecided, state: RunState) -> None:
    answer = {"decision": event.decision, "by": event.by, "reason": event.reason, "comments": event.comments}
    update_approval(state, event.item, **answer)
    question = state.approvals[event.item].approval
    if event.decision == "send-back" and question.matter == "plan":
        withdraw_plan(state, question)
    if event.decision != "approve":
        return
    if question.settings:
        state.overrides = (*state.overrides, question.settings)
    if question.recipe is not None:
        request_revision(state, question.recipe)
    if state.goal.contract:
        state.goal.contract = state.goal.contract.with_criteria(question.criteria)


# --- planning and attempts -----------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: work.TaskCreated, state: RunState) -> None:
    state.tasks[event.spec.id] = TaskState(spec=event.spec)
    state.plan_version += 1


@apply_run_event.register
def _(event: work.AttemptStarted, state: RunState) -> None:
    add_attempt(state, event)


@apply_run_event.register
def _(event: work.CandidateTaken, state: RunState) -> None:
    task = get_named_task(state, event)
    update_task(state, task, candidates=(*task.candidates, event))


@apply_run_event.register
def _(event: work.AttemptEnded, state: RunState) -> None:
    task = get_named_task(state, event)
    handoff = event.handoff or task.handoff
    if event.handoff and task.handoff and task.attempt and task.attempt.keeps_work:
        handoff = event.handoff.keep_decisions(task.handoff)
    update_task(state, task, TaskStatus.JUDGING, ends=(*task.ends, event), handoff=handoff)


@apply_run_event.register
def _(event: work.VerdictGiven, state: RunState) -> None:
    task = get_named_task(state, event)
    is_through, is_queued = event.verdict.kind == "merge", task.status == TaskStatus.QUEUED
    status = None
    if is_through != is_queued:  # what the queue ejected is judged again
        status = TaskStatus.QUEUED if is_through else TaskStatus.JUDGING
    update_task(state, task, status, verdicts=(*task.verdicts, event))
    state.width = state.width.record_verdict(is_through, task.spec.id, state.last_at)


@apply_run_event.register
def _(event: work.GrantDecided, state: RunState) -> None:
    if event.is_allowed:
        add_task_grants(state, get_named_task(state, event), event.grants)
    task = get_named_task(state, event)
    update_task(state, task, grant_decisions=(*task.grant_decisions, event))


@apply_run_event.register
def _(event: work.TaskEnded, state: RunState) -> None:
    update_task(state, get_named_task(state, event), event.status, reason=event.reason, cause=event.cause)


# --- conversations -------------------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: work.SessionStarted, state: RunState) -> None:
    number = len(state.tasks[event.task].attempts) if event.task in state.tasks else 0
    began = SessionState(session=event.session, role=event.role, task=event.task, model=event.model, attempt=number)
    opening = {"continues": event.continues, "until": event.turn}
    state.sessions[event.session] = began.model_copy(update=opening)


@apply_run_event.register
def _(event: work.ModelReplied, state: RunState) -> None:
    record_reply_cost(state, event)
    _count_answer(state, event)


@apply_run_event.register
def _(event: work.ModelFailed, state: RunState) -> None:
    record_failure_cost(state, event)
    if event.error in {"lost", "script-exhausted"}:
        return  # nobody answered, or nothing was asked of anybody
    _count_answer(state, event)
    if event.error == "rate-limited":
        state.width = state.width.reduce_share(WidthCause.RATE_LIMIT, event.model, state.last_at)
    if event.pool and event.opens_at:
        pauses = state.spend.provider_pauses
        pauses[event.pool] = max(event.opens_at, pauses.get(event.pool, event.opens_at))


def _count_answer(state: RunState, event: work.ModelReplied | work.ModelFailed) -> None:
    """Count by the model that was asked: a reply names the model that says it answered."""
    call = state.open_intents.get(event.key)
    if event.task is not None:
        asked = call if isinstance(call, work.ModelCalled) else state.sessions[event.session]
        state.spend.answer_counts[f"{event.role} {event.task} {asked.model}"] += 1


@apply_run_event.register
def _(event: work.ToolReturned, state: RunState) -> None:
    call, session = state.open_intents.get(event.key), state.sessions.get(event.session)
    if not isinstance(call, work.ToolCalled) or len(state.policy_violations) >= MAX_VIOLATIONS:
        return
    repository = state.started.repository if state.started else ""
    state.policy_violations += find_policy_violations(call, event, session.attempt if session else 0, repository)


@apply_run_event.register
def _(event: work.TurnEnded, state: RunState) -> None:
    update_session(state, event.session, turns=event.turn + 1)
    if event.tree is not None:
        update_session(state, event.session, tree=event.tree)


@apply_run_event.register
def _(event: work.ConversationCarriedOver, state: RunState) -> None:
    update_session(state, event.session, carryovers=state.sessions[event.session].carryovers + 1)


@apply_run_event.register
def _(event: work.SessionEnded, state: RunState) -> None:
    update_session(state, event.session, ended=event.exit)


# --- the queue -----------------------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: landing.RefSetting, state: RunState) -> None:
    if event.ref.startswith("refs/heads/"):
        state.ref_history[event.ref] = (*state.ref_history.get(event.ref, ()), event.object)


@apply_run_event.register
def _(event: landing.TrialJudged, state: RunState) -> None:
    state.trials.append(event)


@apply_run_event.register
def _(event: landing.UnitEjected, state: RunState) -> None:
    state.ejections.append(event)
    task = state.tasks.get(parse_unit_task(event.unit))
    if task is not None:
        update_task(state, task, ejections=(*task.ejections, event))
    if event.conflict:
        state.width = state.width.reduce_share(WidthCause.CONFLICT, ", ".join(event.conflict[:3]), state.last_at)
    elif not event.difference.is_unsettled:
        state.width = state.width.reduce_share(WidthCause.RED_TOGETHER, event.unit, state.last_at)


@apply_run_event.register
def _(event: landing.ClashForeseen, state: RunState) -> None:
    pair = (event.unit, event.partners)
    others = [one for one in state.foreseen_clashes if (one.unit, one.partners) != pair]
    if event.paths:
        others.append(event)
    state.foreseen_clashes = tuple(others)


@apply_run_event.register
def _(event: landing.LandingFinished, state: RunState) -> None:
    state.landings.append(event)
    state.width = state.width.raise_share()
    record_landed_shards(state, event.parts)
    for unit in event.units:
        task = state.tasks.get(parse_unit_task(unit))
        if task is not None:
            update_task(state, task, TaskStatus.MERGED)
            decided = task.handoff.decided if task.handoff else ()
            state.register = record_decisions(state.register, task.spec.id, decided)


@apply_run_event.register
def _(event: landing.RewindFinished, state: RunState) -> None:
    apply_rewind(event, state)


# --- planning, migrations, verifiers ------------------------------------------------------------------------------

for _kind, _apply in (
    *apply_memory_event.registry.items(),
    *apply_migration_event.registry.items(),
    *apply_planning_event.registry.items(),
    *apply_verification_event.registry.items(),
):
    apply_run_event.register(_kind, _apply)


# --- notifications -------------------------------------------------------------------------------------------------


@apply_run_event.register
def _(event: external.NotificationSending, state: RunState) -> None:
    if event.channel != "dir":  # at most once: begun is as good as sent
        state.notified_through[event.channel] = event.through


@apply_run_event.register
def _(event: external.NotificationSent, state: RunState) -> None:
    state.notified_through[event.channel] = max(event.through, state.notified_through.get(event.channel, 0))
