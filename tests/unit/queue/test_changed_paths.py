"""Which candidates may conflict: those that change the same paths, whatever landed before they were begun."""

from pathlib import Path

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.queue.changed_paths import CandidatePaths, read_changed_paths
from tests.running.projects import commit, git, repository
from worktrees.repositories.repository import GitRepository

EARLY, LATE, SAME = UnitId("early@1"), UnitId("late@1"), UnitId("same@1")


async def test_candidates_begun_after_a_landing_do_not_overlap_by_what_landed(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a/README": "x\n"})
    base = git(root, "rev-parse", "HEAD").strip()
    tip = CommitId(commit(root, base, "landed.txt", "landed\n"))
    commits = {
        EARLY: CommitId(commit(root, base, "a/early.txt", "early\n")),
        LATE: CommitId(commit(root, tip, "a/late.txt", "late\n")),
        SAME: CommitId(commit(root, tip, "a/early.txt", "same\n")),
    }

    async def read(head: CommitId, unit: UnitId) -> frozenset[str]:
        return await read_changed_paths(GitRepository.open(root).git, head, commits[unit])

    paths = CandidatePaths()
    for unit in commits:
        await paths.load_paths(tip, unit, read)
    assert paths.by_unit[LATE] == {"a/late.txt", "a/", "./"}
    assert paths.find_overlaps(LATE, [EARLY, SAME]) == []
    assert paths.find_overlaps(SAME, [EARLY, LATE]) == [EARLY]
