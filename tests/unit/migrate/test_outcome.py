"""The words for how a migration went: one count of failed files, the same as in its groups."""

import pytest

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.migrate.ladder.run_outcome import summarize_outcome


def files(*statuses: FileStatus) -> list[FileRecord]:
    return [FileRecord(path=f"{n}.py", base="b" * 40, mode="100644", status=one) for n, one in enumerate(statuses)]


@pytest.mark.parametrize(
    ("statuses", "outcome", "reason"),
    [
        ((FileStatus.MERGED, FileStatus.SKIPPED), "done", "all 1 changed files landed, 1 skipped"),
        (
            (FileStatus.MERGED, FileStatus.UNCHANGED),
            "partial",
            "1 files landed, 1 failed (1 could not be changed)",
        ),
        (
            (FileStatus.MERGED, FileStatus.UNCHANGED, FileStatus.REJECTED, FileStatus.REVERTED),
            "partial",
            "1 files landed, 2 failed (1 rejected, 1 could not be changed), 1 rolled back",
        ),
        ((FileStatus.MERGED, FileStatus.REVERTED), "partial", "1 files landed, 0 failed, 1 rolled back"),
        ((FileStatus.REJECTED,), "rejected", "none of the changed files could land: 1 failed (1 rejected)"),
        ((FileStatus.UNCHANGED,), "nothing-changed", "no step changed any of the 1 files in scope"),
    ],
    ids=["done", "unchanged", "mixed", "reverted", "rejected", "nothing"],
)
def test_what_failed_is_counted_once_and_by_one_word(
    statuses: tuple[FileStatus, ...], outcome: str, reason: str
) -> None:
    found = files(*statuses)
    assert summarize_outcome(found) == (outcome, reason)
    if "failed" in reason:
        assert f"{sum(file.has_failed for file in found)} failed" in reason
