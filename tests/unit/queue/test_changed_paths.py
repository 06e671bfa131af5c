"""Which candidates may conflict: those that change the same paths, whatever landed before they were begun."""

from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.queue.changed_paths import CandidatePaths, read_changed_paths
from orchestrator.queue.trial_pool import TrialPool
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


async def test_paths_are_read_again_where_somebody_else_moved_the_branch() -> None:
    async with anyio.create_task_group() as tasks:
        pool = TrialPool(tasks)
        for head, path in ("a" * 40, "landed.txt"), ("b" * 40, "taken-back.txt"):
            tip = CommitId(head)

            async def read(_head: CommitId, _unit: UnitId, path: str = path) -> frozenset[str]:
                return frozenset({path})

            pool.stand_on(tip)
            pool.stand_on(tip)
            assert await pool.paths.load_paths(tip, LATE, read) == {path, "./"}
            assert await pool.paths.load_paths(tip, LATE, read) == {path, "./"}
