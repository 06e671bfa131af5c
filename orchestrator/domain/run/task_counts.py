"""Counts of a run's tasks by what became of them: the one source of the numbers on screens and in reports."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.domain.run.task import TaskStatus

_NOT_MERGED = (TaskStatus.REJECTED, TaskStatus.BLOCKED, TaskStatus.CANCELLED, TaskStatus.DISCARDED)
"""The ends of tasks whose work is not on the PR branch."""


UNCOUNTED = frozenset({TaskStatus.SPLIT, TaskStatus.DISCARDED})
"""The ends of tasks for which others count."""


@dataclass(frozen=True)
class TaskCounts:
    """Numbers of leaf tasks by status.

    A task that was split does not count, as its pieces do; nor does one that a restart left behind.
    """

    by_status: Mapping[TaskStatus, int]

    @classmethod
    def from_statuses(cls, statuses: Iterable[TaskStatus]) -> "TaskCounts":
        """Return the counts of these statuses of leaves."""
        return cls(Counter(statuses))

    @property
    def total(self) -> int:
        """All tasks without those that were split or left behind."""
        return sum(self.by_status.values()) - sum(self.by_status.get(status, 0) for status in UNCOUNTED)

    @property
    def merged(self) -> int:
        """The tasks whose change stands on the PR branch."""
        return self.by_status.get(TaskStatus.MERGED, 0) + self.by_status.get(TaskStatus.DONE, 0)

    @property
    def failed(self) -> int:
        """The tasks that ended without landing, and that no person cancelled."""
        return self.by_status.get(TaskStatus.REJECTED, 0) + self.by_status.get(TaskStatus.BLOCKED, 0)

    @property
    def cancelled(self) -> int:
        """The tasks that a person cancelled, and those that fell with them."""
        return self.by_status.get(TaskStatus.CANCELLED, 0)

    @property
    def share_text(self) -> str:
        """`6/7`."""
        return f"{self.merged}/{self.total}"

    def describe_counts(self) -> str:
        """Return what became of the tasks: `6/7 merged, 1 cancelled`."""
        parts = [f"{self.share_text} merged"]
        for status in _NOT_MERGED:
            if count := self.by_status.get(status, 0):
                parts.append(f"{count} {status.word}")
        return ", ".join(parts)
