"""The changes that events of planning make to the state of a run."""

from collections.abc import Iterator
from functools import singledispatch

from orchestrator.domain.commands.goal import replace_dependency
from orchestrator.domain.event import people, work
from orchestrator.domain.event.base import Event
from orchestrator.domain.fold.record_updates import get_named_task, update_task
from orchestrator.domain.ids import TaskId
from orchestrator.domain.ownership.decisions import drop_decisions, list_contradictions, record_decisions
from orchestrator.domain.planning.plan_edits import PlanEdit, list_plan_changes
from orchestrator.domain.run.rivals import list_rivals
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import EndCause, TaskStatus

_INTERIM_SHARE = 3
"""Of the rounds of a planner whose tasks are at work, one in so many counts: it may hear of each failure by itself."""


@singledispatch
def apply_planning_event(event: Event, state: RunState) -> None:
    """Change a state that the caller owns as one event of a planner says."""


@apply_planning_event.register
def _(event: work.PlanningStarted, state: RunState) -> None:
    task = get_named_task(state, event)
    landed = state.task_index.count_landed_below(task.spec.id)
    is_interim = state.task_index.count_live_children(task.spec.id) > 0
    interim_rounds = task.interim_rounds + is_interim
    is_uncounted = landed > task.landed_before or (is_interim and interim_rounds % _INTERIM_SHARE != 0)
    state.goal.plan_edits = _mark_heard(state.goal.plan_edits, task.spec.id, event.round)
    update_task(
        state,
        task,
        TaskStatus.PLANNING,
        rounds=event.round,
        uncounted_rounds=task.uncounted_rounds + is_uncounted,
        interim_rounds=interim_rounds,
        landed_before=landed,
        began_with_baseline=bool(state.baseline),
        seen_ends=state.end_count,
        seen_contradictions=frozenset(_list_contradictions_of(state, task.spec.id)),
        seen_ends_before=task.seen_ends,
        is_finished=False,
    )


@apply_planning_event.register
def _(event: people.PlanGiven, state: RunState) -> None:
    state.goal.given_plan = event.plan


@apply_planning_event.register
def _(event: people.PlanEdited, state: RunState) -> None:
    planner, proposed = get_named_task(state, event), event.proposed
    for name in event.withdrawn:
        del state.tasks[name]
    state.plan_version += 1
    rationales = list(reversed(planner.rationales))
    if proposed.rationale in rationales:
        rationales[rationales.index(proposed.rationale)] = event.plan.rationale
    update_task(state, planner, rationales=tuple(reversed(rationales)))
    register = drop_decisions(state.register, planner.spec.id, proposed.decisions)
    state.register = record_decisions(register, planner.spec.id, event.plan.decisions)
    changes = list_plan_changes(proposed, event.plan)
    edit = PlanEdit(task=planner.spec.id, round=event.round, by=event.by, changes=changes)
    state.goal.plan_edits = (*state.goal.plan_edits, edit)


@apply_planning_event.register
def _(event: people.WordsDelivered, state: RunState) -> None:
    for name in event.word_ids:
        heard = {"session": event.session, "turn": event.turn}
        state.goal.words[name] = state.goal.words[name].model_copy(update=heard)


@apply_planning_event.register
def _(event: work.PlanSubmitted, state: RunState) -> None:
    task = get_named_task(state, event)
    update_task(state, task, TaskStatus.WAITING, rationales=(*task.rationales, event.plan.rationale))
    state.register = record_decisions(state.register, task.spec.id, event.plan.decisions)


@apply_planning_event.register
def _(event: work.PlanKept, state: RunState) -> None:
    task = get_named_task(state, event)
    is_finished = event.handoff is not None
    update_task(state, task, TaskStatus.WAITING, is_finished=is_finished, handoff=event.handoff or task.handoff)
    if event.handoff:
        state.register = record_decisions(state.register, task.spec.id, event.handoff.decided)


@apply_planning_event.register
def _(event: work.TaskReplaced, state: RunState) -> None:
    task = get_named_task(state, event)
    if not task.status.is_terminal:
        update_task(state, task, TaskStatus.CANCELLED, reason=f"{event.by} replaces it", cause=EndCause.REPLACED)
    replace_dependency(state, task.spec.id, event.by)


@apply_planning_event.register
def _(event: work.RivalChosen, state: RunState) -> None:
    for task in list_rivals(state, get_named_task(state, event)):
        name = task.spec.id
        if name == event.chosen:
            update_task(state, task, is_chosen=True)
            continue
        update_task(state, task, is_chosen=False)
        if not task.status.is_terminal:
            reason = f"{event.chosen}, which tries the same, was chosen"
            update_task(state, state.tasks[name], TaskStatus.CANCELLED, reason=reason, cause=EndCause.NOT_CHOSEN)
        replace_dependency(state, name, event.chosen)


@apply_planning_event.register
def _(event: work.PlanningEnded, state: RunState) -> None:
    task = get_named_task(state, event)
    update_task(state, task, TaskStatus.DONE, handoff=event.handoff)
    state.register = record_decisions(state.register, task.spec.id, event.handoff.decided)


def _mark_heard(edits: tuple[PlanEdit, ...], planner: TaskId, number: int) -> tuple[PlanEdit, ...]:
    """Return edits as of the moment at which a planner's round begins: it is told of those that it had not heard of."""
    marked = []
    for edit in edits:
        is_news = edit.task == planner and edit.heard_in is None
        marked.append(edit.model_copy(update={"heard_in": number}) if is_news else edit)
    return tuple(marked)


def _list_contradictions_of(state: RunState, planner: TaskId) -> Iterator[str]:
    for contradiction in list_contradictions(state.register):
        if contradiction.planner == planner:
            yield contradiction.id
