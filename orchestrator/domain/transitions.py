"""The transition tables: which status may follow which. Everything that changes a status uses `apply_transition`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.task import TaskStatus

S = TypeVar("S", bound=StrEnum)

_STOPS = {TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.SPLIT, TaskStatus.CANCELLED, TaskStatus.UNFINISHED}

TASK_TRANSITIONS: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.PLANNED: frozenset({TaskStatus.RUNNING, TaskStatus.PLANNING, *_STOPS}),
    # leaves; a person may have any of them tried again that has not landed
    TaskStatus.RUNNING: frozenset({TaskStatus.JUDGING, TaskStatus.RUNNING, TaskStatus.PLANNED, *_STOPS}),
    TaskStatus.JUDGING: frozenset({TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.PLANNED, *_STOPS}),
    # what the queue ejected may be judged again, and be refused
    TaskStatus.QUEUED: frozenset({TaskStatus.MERGED, TaskStatus.RUNNING, TaskStatus.JUDGING, *_STOPS}),
    # branches
    TaskStatus.PLANNING: frozenset({TaskStatus.WAITING, TaskStatus.DONE, *_STOPS}),
    TaskStatus.WAITING: frozenset({TaskStatus.PLANNING, TaskStatus.DONE, *_STOPS}),
    # a new iteration wakes a planner that was done or ran out of rounds; so does a task of it that a person tries again
    TaskStatus.DONE: frozenset({TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.DISCARDED}),
    TaskStatus.UNFINISHED: frozenset(
        {TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.PLANNED, TaskStatus.DISCARDED}
    ),
    # a restart leaves behind what had landed
    TaskStatus.MERGED: frozenset({TaskStatus.DISCARDED}),
    TaskStatus.DISCARDED: frozenset(),
    # the end, unless a person has it tried again
    TaskStatus.BLOCKED: frozenset({TaskStatus.PLANNED}),
    TaskStatus.REJECTED: frozenset({TaskStatus.PLANNED}),
    TaskStatus.SPLIT: frozenset({TaskStatus.PLANNED}),
    TaskStatus.CANCELLED: frozenset({TaskStatus.PLANNED, TaskStatus.WAITING}),  # its planner waits for it again
}

_TRIED = {FileStatus.TRANSFORMED, FileStatus.RESTORED}
_FAILED = {FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN}
_ENDS = {FileStatus.NOTHING_TO_DO, FileStatus.SKIPPED, *_FAILED}
_AGAIN = frozenset({FileStatus.DISCOVERED, FileStatus.SKIPPED})

FILE_TRANSITIONS: Mapping[FileStatus, frozenset[FileStatus]] = {
    # a step that changes nothing moves a file to the status it has, one rung higher
    FileStatus.DISCOVERED: frozenset({FileStatus.DISCOVERED, *_TRIED, *_ENDS}),
    FileStatus.TRANSFORMED: frozenset({FileStatus.EJECTED, FileStatus.MERGED, FileStatus.DISCOVERED, *_TRIED, *_ENDS}),
    FileStatus.RESTORED: frozenset({FileStatus.DISCOVERED, FileStatus.SKIPPED, *_TRIED, *_FAILED}),
    FileStatus.EJECTED: frozenset({FileStatus.EJECTED, FileStatus.DISCOVERED, FileStatus.SKIPPED, *_TRIED, *_FAILED}),
    # the end, unless a person rolls it back, has it tried again or revises the recipe
    FileStatus.MERGED: frozenset({FileStatus.REVERTED, FileStatus.DISCOVERED}),
    FileStatus.NOTHING_TO_DO: _AGAIN,
    FileStatus.REJECTED: _AGAIN,
    FileStatus.UNCHANGED: _AGAIN,
    FileStatus.NEEDS_HUMAN: _AGAIN,
    FileStatus.REVERTED: _AGAIN,
    FileStatus.SKIPPED: frozenset({FileStatus.DISCOVERED}),
}


class IllegalTransition(ValueError):
    """A status change that the transition table does not allow: a defect in the engine or a damaged journal."""


def apply_transition(table: Mapping[S, frozenset[S]], subject: str, old: S, new: S) -> S:
    """Return the new status.

    Raises:
        IllegalTransition: the table has no such move.
    """
    if new not in table[old]:
        raise IllegalTransition(f"{subject}: {old} cannot become {new}")
    return new
