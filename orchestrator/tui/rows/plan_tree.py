"""The plan tree as rows: which tasks there are, how far each is with all below it, what it waits for, what it cost."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import TaskId, get_task_key
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run.task_counts import UNCOUNTED
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import NO_FILTER, FilteredByAttributes, RowFilter
from orchestrator.report.rows.task_activities import TaskActivities

_CHARS = 300
_NOTHING = Usage()


@dataclass(frozen=True)
class PlanRow(FilteredByAttributes):
    """A task in the tree. `done` of `total` are the leaves at and below it, without those that were divided anew.

    `depth` is 0 for the root. `needs` are the tasks that must land first. `note` says why it stands where it does.
    """

    FILTER_FIELDS: ClassVar = {
        "task": "id", "title": "title", "state": "activity.filter_values", "status": "status.value", "kind": "kind",
        "cause": "cause", "reason": "note", "model": "model", "attempts": "attempts", "cost": "spent.usd",
    }  # fmt: skip

    id: TaskId
    depth: int
    is_branch: bool
    is_folded: bool
    activity: Activity
    status: TaskStatus
    title: str
    done: int
    total: int
    attempts: int
    model: str
    needs: tuple[TaskId, ...]
    cause: str
    note: str
    spent: Usage

    @property
    def key(self) -> str:
        """Its planner's name for it: the last part of its id."""
        return get_task_key(self.id)

    @property
    def price(self) -> str:
        """The price with all below it; empty if no model was called."""
        return self.spent.cost_text * bool(self.spent.calls)

    @property
    def blocked_text(self) -> str:
        """`needs storage, cli`; empty if it waits for no other task."""
        return f"needs {', '.join(self.needs)}" * bool(self.needs)

    @property
    def kind(self) -> str:
        """`branch` or `leaf`."""
        return "branch" if self.is_branch else "leaf"


PLAN_KEYS = tuple(PlanRow.FILTER_FIELDS)
"""The fields that filters of a plan can name."""


class PlanTree:
    """Looks at one state; make a new one when it has changed. Of a folded branch nothing below is made."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._standing = TaskActivities(state)
        self._below: dict[TaskId | None, list[TaskState]] = {}
        for task in state.tasks.values():
            parent = task.spec.parent if task.spec.parent in state.tasks else None
            self._below.setdefault(parent, []).append(task)
        self._counts = self._count_leaves()

    def build_rows(
        self, folded: Collection[TaskId] = (), wanted: RowFilter = NO_FILTER, *, only_blocked: bool = False
    ) -> list[PlanRow]:
        """Return the tree from top to bottom.

        Args:
            folded: the branches whose tasks are hidden; of no effect when only some tasks are wanted.
            wanted: which tasks are shown, each below all those above it.
            only_blocked: only those that cannot go on by themselves.
        """
        if not wanted.terms and not only_blocked:
            return [self._row(task, depth, task.spec.id in folded) for task, depth in self._walk(folded)]
        rows = []
        shown: set[TaskId] = set()
        for task, depth in self._walk(()):
            rows.append(row := self._row(task, depth, False))
            if wanted.matches_row(row.get_filter_values()) and (not only_blocked or self._standing.is_blocked(task)):
                shown.update(self._state.iterate_lineage(row.id))
        return [row for row in rows if row.id in shown]

    def count_activities(self) -> Counter[Activity]:
        """Count the leaves by activity, without those that were split: their pieces count."""
        leaves = filter(_counts_as_leaf, self._state.tasks.values())
        return Counter(map(self._standing.get_activity, leaves))

    def list_branches(self) -> frozenset[TaskId]:
        """Return the tasks that have others below them."""
        return frozenset(filter(None, self._below))

    def _walk(self, folded: Collection[TaskId]) -> Iterator[tuple[TaskState, int]]:
        stack = [(task, 0) for task in reversed(self._below.get(None, []))]
        while stack:
            task, depth = stack.pop()
            yield task, depth
            if task.spec.id not in folded:
                stack.extend((one, depth + 1) for one in reversed(self._below.get(task.spec.id, [])))

    def _count_leaves(self) -> Mapping[TaskId, tuple[int, int]]:
        """Return, by task, its leaves that are done and all of them."""
        counts: dict[TaskId, tuple[int, int]] = {}
        for task, _ in reversed(list(self._walk(()))):
            is_leaf = task.spec.kind == "leaf"
            done, total = int(is_leaf and task.status.is_reached), int(is_leaf and task.status not in UNCOUNTED)
            for child in self._below.get(task.spec.id, ()):
                done, total = done + counts[child.spec.id][0], total + counts[child.spec.id][1]
            counts[task.spec.id] = done, total
        return counts

    def _row(self, task: TaskState, depth: int, is_folded: bool) -> PlanRow:
        done, total = self._counts[task.spec.id]
        has_below = task.spec.id in self._below
        return PlanRow(
            id=task.spec.id,
            depth=depth,
            is_branch=task.spec.kind == "branch" or has_below,
            is_folded=is_folded and has_below,
            activity=self._standing.get_activity(task),
            status=task.status,
            title=to_one_line(task.spec.title, _CHARS),
            done=done,
            total=total,
            attempts=len(task.attempts),
            model=shorten_model_name(task.attempt.model) if task.attempt else "",
            needs=self._standing.list_unmet_dependencies(task),
            cause=task.cause.value if task.cause and task.status.is_terminal else "",
            note=to_one_line(_note(task, self._standing), _CHARS),
            spent=self._state.spend.by_node.get(task.spec.id, _NOTHING),
        )


def _counts_as_leaf(task: TaskState) -> bool:
    return task.spec.kind == "leaf" and task.status not in UNCOUNTED


def _note(task: TaskState, standing: TaskActivities) -> str:
    if task.status.is_terminal:
        return task.reason * (not task.status.is_reached)
    if item := standing.questions_by_task.get(task.spec.id):
        return f"waits for your answer: {item}"
    if task.retry is not None:
        return f"a person has it tried again: {task.retry.note}".rstrip(": ")
    if checks := standing.checks_by_task.get(task.spec.id):
        return f"testing: {', '.join(checks)}"
    if task.attempt is not None and task.attempt.feedback:
        return f"after attempt {task.attempt.number - 1}: {'; '.join(task.attempt.feedback)}"
    return _describe_standing(task)


def _describe_standing(task: TaskState) -> str:
    if task.status == TaskStatus.QUEUED:
        return "waits to land"
    if task.verdict:
        return f"{task.verdict.verdict.kind}: {'; '.join(task.verdict.verdict.reasons)}"
    return ""
