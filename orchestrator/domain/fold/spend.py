"""Booking costs and times, as part of the fold: events hold what one call cost, only the state holds sums."""

from collections.abc import MutableMapping
from datetime import datetime, timedelta
from typing import TypeVar

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import forge, landing, people, work
from orchestrator.domain.event.base import Event
from orchestrator.domain.fold.record_updates import update_approval, update_session
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.ids import parse_unit_task
from orchestrator.domain.run.state import RunState

K = TypeVar("K", bound=str)

TIMED_EVENTS = (work.AttemptStarted, work.PlanningStarted, work.TaskEnded, work.PlanningEnded, landing.LandingFinished)
"""Events at which work at a task begins or ends."""

POSSIBLY_BILLED_ERRORS = frozenset({"lost", "timed-out"})
"""Errors after which nobody knows whether the provider charged for the call, also in journals that say no more."""


def record_reply_cost(state: RunState, event: work.ModelReplied) -> None:
    """Book a reply's cost to the run, its role, model, conversation, task and the tasks above."""
    usage, model = event.usage, _get_asked_model(state, event)
    session = state.sessions[event.session]
    update_session(state, event.session, replies=session.replies + 1, spent=session.spent + usage)
    state.spend.total += usage
    _add_usage(state.spend.by_role, event.role, usage)
    _add_usage(state.spend.by_model, model, usage)
    state.spend.call_s_by_role[event.role] = state.spend.call_s_by_role.get(event.role, 0.0) + event.seconds
    state.spend.call_s_by_model[model] = state.spend.call_s_by_model.get(model, 0.0) + event.seconds
    if event.task is not None:
        _add_usage(state.spend.by_task, event.task, usage)
    for node in state.iterate_lineage(event.task):
        _add_usage(state.spend.by_node, node, usage)


def record_failure_cost(state: RunState, event: work.ModelFailed) -> None:
    """Book a failed try: nothing, or what it had reserved where it may have been billed."""
    if event.may_be_billed or event.error in POSSIBLY_BILLED_ERRORS:
        _record_risk(state, event)
    if event.error in {"lost", "script-exhausted"}:
        return  # the try is made again, or nothing was asked of anybody
    update_session(state, event.session, failures=state.sessions[event.session].failures + 1)


def record_work_time(state: RunState, event: Event, _at: datetime) -> None:
    """Book when work at a task begins and ends, which the `TIMED_EVENTS` tell; `state` has taken it in already."""
    match event:
        case work.AttemptStarted(task=str(task)) | work.PlanningStarted(task=str(task)):
            state.task_begun_s.setdefault(task, state.wall_s)
            state.task_ended_s.pop(task, None)
        case work.TaskEnded(task=str(task)) | work.PlanningEnded(task=str(task)):
            state.task_ended_s[task] = state.wall_s
        case landing.LandingFinished():
            state.task_ended_s.update({parse_unit_task(unit): state.wall_s for unit in event.units})


def record_question_time(
    state: RunState, event: people.ApprovalRequested | people.ApprovalDecided, at: datetime
) -> None:
    """Record when a question was put, or answered."""
    if isinstance(event, people.ApprovalRequested):
        state.approval_asked_at[event.approval.item] = at
    else:
        state.approval_answered_at[event.item] = at


def record_forge_checks(state: RunState, event: forge.ChecksSeen, at: datetime) -> None:
    """Record the forge's checks, and since when they are waited for."""
    if state.forge_checks is None or (state.forge_checks.ref, state.forge_checks.commit) != (event.ref, event.commit):
        state.forge_checks_since = None
    state.forge_checks = event
    state.forge_checks_since = state.forge_checks_since or at


def shift_deadlines(state: RunState, by: timedelta) -> None:
    """Move the deadlines of the wall clock: open questions, the forge's checks and the pauses of providers."""
    if state.forge_checks_since is not None:
        state.forge_checks_since += by
    for item, question in state.approvals.items():
        if question.is_open and question.approval.expires_at is not None:
            shifted = copy_with_changes(question.approval, expires_at=question.approval.expires_at + by)
            update_approval(state, item, approval=shifted)
    for pool, until in state.spend.provider_pauses.items():
        state.spend.provider_pauses[pool] = until + by


def _record_risk(state: RunState, event: work.ModelFailed) -> None:
    state.spend.possibly_billed_calls += 1
    call = state.open_intents.get(event.key)
    if not isinstance(call, work.ModelCalled) or not call.reserved.calls:
        return  # a journal from before calls reserved anything
    risk = call.reserved
    update_session(state, event.session, at_risk=state.sessions[event.session].at_risk + risk)
    state.spend.at_risk += risk
    _add_usage(state.spend.at_risk_by_role, event.role, risk)
    _add_usage(state.spend.at_risk_by_model, call.model, risk)
    for node in state.iterate_lineage(event.task):
        _add_usage(state.spend.at_risk_by_node, node, risk)


def _get_asked_model(state: RunState, event: work.ModelReplied) -> str:
    """Return the model by the name under which it was asked: a reply may call it by another."""
    call = state.open_intents.get(event.key)
    return call.model if isinstance(call, work.ModelCalled) else event.model


def _add_usage(sums: MutableMapping[K, Usage], key: K, usage: Usage) -> None:
    sums[key] = sums[key] + usage if key in sums else usage
