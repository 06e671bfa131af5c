"""A repository that reads another's objects: everything can be done in it, and nothing of it is seen in the other."""

from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import Project
from worktrees.checkouts.pool import WorktreePool
from worktrees.errors import GitError
from worktrees.ref_store.refs import list_refs, set_ref
from worktrees.repositories.borrowing import create_borrowing_repository
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import snapshot_worktree


async def test_worktrees_snapshots_and_refs_of_the_copy_are_not_seen_in_the_original(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    project.git("tag", "v1")
    before = project.git("count-objects", "-v"), project.git("for-each-ref"), project.git("worktree", "list")
    own = create_borrowing_repository(repository, tmp_path / "own")
    pool = WorktreePool(own, tmp_path / "pool")
    worktree = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    (worktree.root / "new.txt").write_text("new\n")
    taken = await snapshot_worktree(worktree, "a snapshot", "refs/heads/topic")
    await set_ref(own.git, "refs/orchestrate/x", taken.commit)
    await pool.release_worktree(worktree)
    assert set(await list_refs(own.git, "refs/")) == {"refs/heads/topic", "refs/orchestrate/x", "refs/tags/v1"}
    assert (project.git("count-objects", "-v"), project.git("for-each-ref"), project.git("worktree", "list")) == before
    assert not (project.root / ".git" / "worktrees").exists()


async def test_the_copy_has_the_others_checkout_but_nothing_checked_out_of_its_own(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    own = create_borrowing_repository(repository, tmp_path / "own")
    assert (own.root, own.read_head_commit()) == (repository.root, repository.read_head_commit())
    assert not {"main"} & set(own.list_checked_out_branches())
    assert repository.list_checked_out_branches() == {"main": project.root}


async def test_a_linked_worktree_of_a_bare_repository_can_be_borrowed_from(project: Project, tmp_path: Path) -> None:
    bare = Project(tmp_path / "bare.git")
    project.git("clone", "-q", "--bare", ".", str(bare.root))
    bare.git("worktree", "add", "-q", str(tmp_path / "checkout"), "main")
    own = create_borrowing_repository(GitRepository.open(tmp_path / "checkout"), tmp_path / "own")
    pool = WorktreePool(own, tmp_path / "pool")
    worktree = await pool.lease_worktree(own.read_head_commit())
    assert (worktree.root / "README.md").is_file()
    await pool.release_worktree(worktree)


def test_a_place_that_is_taken_is_refused(repository: GitRepository, tmp_path: Path) -> None:
    create_borrowing_repository(repository, tmp_path / "own")
    with pytest.raises(GitError, match="no repository can be made in"):
        create_borrowing_repository(repository, tmp_path / "own")
