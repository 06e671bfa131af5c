"""Decide the fate of each attempt: its work landed, or why it did not."""

from typing import Literal

from orchestrator.domain.ids import build_unit_id
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Attempt, TaskStatus

Fate = Literal[
    "landed",
    "open",
    "rejected",
    "blocked",
    "split",
    "cancelled",
    "unfinished",
    "restarted",
    "ejected",
    "superseded",
    "discarded",
]
"""`superseded`: another attempt began afresh without a verdict on this one. `open`: nothing is decided yet.
`discarded`: it had landed, and a restart left it behind.
"""

_ENDS: dict[TaskStatus, Fate] = {
    TaskStatus.MERGED: "landed",
    TaskStatus.REJECTED: "rejected",
    TaskStatus.BLOCKED: "blocked",
    TaskStatus.SPLIT: "split",
    TaskStatus.CANCELLED: "cancelled",
    TaskStatus.UNFINISHED: "unfinished",
    TaskStatus.DISCARDED: "discarded",
}


def get_attempt_fates(task: TaskState) -> dict[int, Fate]:
    """Return the fate of each attempt by its number; one that a later attempt continued has that one's fate."""
    found: dict[int, Fate] = {}
    later: Fate | None = None
    for place in reversed(range(len(task.attempts))):
        number = task.attempts[place].number
        if later is None:
            later = _last(task, number)
        elif not _goes_on(task, task.attempts[place + 1]):
            later = _given_up(task, number)
        found[number] = later
    return dict(sorted(found.items()))


def get_task_fate(task: TaskState) -> Fate:
    """Return the fate of a task as a whole."""
    return _ENDS.get(task.status, "landed" if task.status == TaskStatus.DONE else "open")


def _goes_on(task: TaskState, attempt: Attempt) -> bool:
    """Return True if an attempt begins with the files of an earlier one.

    A model step of a migration begins each attempt with the output of the steps before it.
    """
    if attempt.start is None or attempt.mode != "restart":
        return attempt.start is not None
    return attempt.start in {candidate.commit for candidate in task.candidates}


def _last(task: TaskState, number: int) -> Fate:
    fate = get_task_fate(task)
    if fate == "rejected" and _was_ejected(task, number):
        return "ejected"
    return fate


def _given_up(task: TaskState, number: int) -> Fate:
    if _was_ejected(task, number):
        return "ejected"
    if any(given.number == number for given in task.verdicts):
        return "restarted"
    return "superseded"


def _was_ejected(task: TaskState, number: int) -> bool:
    unit = build_unit_id(task.spec.id, number)
    return any(ejection.unit == unit for ejection in task.ejections)
