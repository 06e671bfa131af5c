"""Counts of a migration's files by what became of them: the one source of the numbers in forecasts and reports."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.domain.migration.files import FileStatus

_FAILED = {
    FileStatus.REJECTED: "rejected",
    FileStatus.UNCHANGED: "could not be changed",
    FileStatus.NEEDS_HUMAN: FileStatus.NEEDS_HUMAN.word,
    FileStatus.EJECTED: "ejected and held back",
    FileStatus.RESTORED: "restored and held back",
}
"""Files that count as failed, as `FileRecord.has_failed` says, and what became of them."""
_NOT_LANDED = {
    FileStatus.REVERTED: FileStatus.REVERTED.word,
    FileStatus.DISCOVERED: FileStatus.DISCOVERED.word,
    FileStatus.SKIPPED: "skipped",
    FileStatus.TRANSFORMED: "changed and held back",
}
"""Files that neither landed nor failed."""


@dataclass(frozen=True)
class FileCounts:
    """Numbers of files by status."""

    by_status: Mapping[FileStatus, int]

    @classmethod
    def from_statuses(cls, statuses: Iterable[FileStatus]) -> "FileCounts":
        """Return the counts of these statuses."""
        return cls(Counter(statuses))

    @property
    def in_scope(self) -> int:
        """All files."""
        return sum(self.by_status.values())

    @property
    def landed(self) -> int:
        """The files whose change stands on the PR branch."""
        return self.count_status(FileStatus.MERGED)

    @property
    def nothing_to_do(self) -> int:
        """The files without a site that no step changed."""
        return self.count_status(FileStatus.NOTHING_TO_DO)

    @property
    def concerned(self) -> int:
        """The files that have something to do."""
        return self.in_scope - self.nothing_to_do

    @property
    def failed(self) -> int:
        """The files that failed, in whatever way."""
        return sum(map(self.count_status, _FAILED))

    @property
    def is_complete(self) -> bool:
        """True if everything has landed that should: what a person left out need not."""
        rest = [status for status in _NOT_LANDED if status != FileStatus.SKIPPED]
        return not self.failed and not any(map(self.count_status, rest))

    def count_status(self, status: FileStatus) -> int:
        """Return how many files have this status."""
        return self.by_status.get(status, 0)

    def describe_failed(self) -> str:
        """Return how many files failed, and in which way: `3 failed (2 rejected, 1 could not be changed)`."""
        failed = f"{self.failed} failed"
        if kinds := self._describe(_FAILED):
            return f"{failed} ({', '.join(kinds)})"
        return failed

    def describe_rest(self) -> str:
        """Return what became of the files that did not land, although they have something to do."""
        return ", ".join([self.describe_failed(), *self._describe(_NOT_LANDED)])

    def _describe(self, words: Mapping[FileStatus, str]) -> list[str]:
        return [f"{self.count_status(status)} {word}" for status, word in words.items() if self.count_status(status)]
