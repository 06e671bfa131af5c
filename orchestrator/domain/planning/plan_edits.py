"""Edits of people: how a plan that waited for an answer differs from the one that they approved in its place."""

from collections.abc import Iterator
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.task import TaskDraft
from orchestrator.domain.text.listing import add_lead

_PLAN_FIELDS = ("rationale", "decisions", "cancel")
"""The fields of a plan beside its tasks."""


class PlanChange(FrozenModel):
    """A difference between two plans: a task of this `key`, or the plan itself where the key is empty.

    `fields` are those that differ, for what is `changed`.
    """

    kind: Literal["dropped", "added", "changed"]
    key: str = ""
    title: str = ""
    fields: tuple[str, ...] = ()


class PlanEdit(FrozenModel):
    """A person's edit of a planner's plan of a round. `heard_in` is the planner's round that was told of it."""

    task: TaskId
    round: int
    by: str
    changes: tuple[PlanChange, ...]
    heard_in: int | None = None


def list_plan_changes(proposed: Plan, edited: Plan) -> tuple[PlanChange, ...]:
    """Return how a plan differs from the one that was proposed: what was dropped, then the rest in its order."""
    return (*_list_task_changes(proposed, edited), *_list_own_changes(proposed, edited))


def describe_plan_change(change: PlanChange) -> str:
    """Return a change in words: `dropped b (Write the docs)`, `changed a (Parser): paths, outcome`."""
    if not change.key:
        return f"changed the plan's own words: {', '.join(change.fields)}"
    return f"{change.kind} {change.key} ({change.title}){add_lead(': ', ', '.join(change.fields))}"


def list_unchanged_keys(proposed: Plan, edited: Plan) -> frozenset[str]:
    """Return the keys of the tasks that stand in both plans, word for word."""
    drafts = _index_drafts(proposed)
    return frozenset(draft.key for draft in edited.tasks if drafts.get(draft.key) == draft)


def _list_task_changes(proposed: Plan, edited: Plan) -> Iterator[PlanChange]:
    before, after = _index_drafts(proposed), _index_drafts(edited)
    for draft in proposed.tasks:
        if draft.key not in after:
            yield PlanChange(kind="dropped", key=draft.key, title=draft.title)
    for draft in edited.tasks:
        old = before.get(draft.key)
        if old is None:
            yield PlanChange(kind="added", key=draft.key, title=draft.title)
        elif old != draft:
            changed = _list_changed_fields(old, draft, tuple(TaskDraft.model_fields))
            yield PlanChange(kind="changed", key=draft.key, title=draft.title, fields=changed)


def _list_own_changes(proposed: Plan, edited: Plan) -> Iterator[PlanChange]:
    if changed := _list_changed_fields(proposed, edited, _PLAN_FIELDS):
        yield PlanChange(kind="changed", fields=changed)


def _list_changed_fields(old: FrozenModel, new: FrozenModel, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(old, name) != getattr(new, name))


def _index_drafts(plan: Plan) -> dict[str, TaskDraft]:
    return {draft.key: draft for draft in plan.tasks}
