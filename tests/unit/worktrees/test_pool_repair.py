"""Worktrees that users and crashes have damaged are whole again when they are leased."""

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import EXPECTED, Project, content
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.repositories.repository import GitRepository


class TestRepair:
    """What users and crashes do to worktrees between two leases."""

    @pytest.fixture
    async def broken(self, pool: WorktreePool, repository: GitRepository) -> Worktree:
        worktree = await pool.lease_worktree(repository.read_head_commit())
        await pool.release_worktree(worktree)
        return worktree

    async def assert_whole_when_leased(self, pool: WorktreePool, broken: Worktree) -> None:
        again = await pool.lease_worktree(broken.commit)
        assert (again.name, content(again.root)) == (broken.name, EXPECTED)
        assert Project(again.root).git("status", "--porcelain", "--ignored") == ""
        assert Project(again.root).git("rev-parse", "HEAD") == broken.commit

    async def test_the_directory_is_gone(self, pool: WorktreePool, broken: Worktree) -> None:
        shutil.rmtree(broken.root)
        await self.assert_whole_when_leased(pool, broken)

    async def test_the_directory_has_become_a_link(self, pool: WorktreePool, broken: Worktree, tmp_path: Path) -> None:
        (tmp_path / "precious").mkdir()
        (tmp_path / "precious" / "file").write_text("mine")
        shutil.rmtree(broken.root)
        broken.root.symlink_to(tmp_path / "precious")

        await self.assert_whole_when_leased(pool, broken)

        assert (tmp_path / "precious" / "file").read_text() == "mine"

    async def test_the_registration_is_gone(self, pool: WorktreePool, broken: Worktree) -> None:
        shutil.rmtree(broken.admin)
        await self.assert_whole_when_leased(pool, broken)

    async def test_the_user_has_pruned_it(self, pool: WorktreePool, broken: Worktree, project: Project) -> None:
        (broken.root / ".git").unlink()
        project.git("worktree", "unlock", str(broken.root))
        project.git("worktree", "prune")
        assert not broken.admin.exists()
        await self.assert_whole_when_leased(pool, broken)

    async def test_the_user_has_removed_it(self, pool: WorktreePool, broken: Worktree, project: Project) -> None:
        project.git("worktree", "remove", "-f", "-f", str(broken.root))
        await self.assert_whole_when_leased(pool, broken)

    async def test_the_record_is_gone_or_damaged(self, pool: WorktreePool, broken: Worktree) -> None:
        for text in ("", "{}", '{"admin": "/"}', '["admin"]'):
            broken.root.with_suffix(".json").write_text(text)
            await self.assert_whole_when_leased(pool, broken)
            await pool.release_worktree(broken)

    async def test_the_index_is_damaged(self, pool: WorktreePool, broken: Worktree) -> None:
        (broken.admin / "index").write_bytes(b"DIRC garbage")
        await self.assert_whole_when_leased(pool, broken)

    async def test_the_index_holds_something_else(self, pool: WorktreePool, broken: Worktree) -> None:
        place = Project(broken.root)
        place.write({"src/app.py": "sly\n", "added": "x"})
        place.git("add", "-A")
        await self.assert_whole_when_leased(pool, broken)

    async def test_a_killed_git_left_its_locks(self, pool: WorktreePool, broken: Worktree) -> None:
        (broken.admin / "index.lock").touch()
        (broken.admin / "HEAD.lock").touch()
        await self.assert_whole_when_leased(pool, broken)

    async def test_a_killed_git_left_a_half_made_registration(
        self, pool: WorktreePool, broken: Worktree, project: Project
    ) -> None:
        half = broken.admin.with_name("half")
        half.mkdir()
        (half / "gitdir").write_text(f"{broken.root.with_name('w2')}/.git\n")
        (half / "HEAD").write_text(f"{'0' * 40}\n")
        (half / "commondir").touch()
        assert "failed to read" in project.complaint("worktree", "list")

        shutil.rmtree(broken.admin)
        await self.assert_whole_when_leased(pool, broken)

        assert project.git("worktree", "list").count("\n") == 1

    async def test_the_pointer_is_damaged_or_replaced(
        self, pool: WorktreePool, broken: Worktree, tmp_path: Path
    ) -> None:
        pointer = broken.root / ".git"
        good = pointer.read_text()
        for damage in (
            pointer.unlink,
            lambda: pointer.write_text("gitdir: /elsewhere\n"),
            lambda: (pointer.unlink(), pointer.symlink_to(tmp_path / "evil")),
            lambda: (pointer.unlink(), pointer.mkdir(), (pointer / "config").write_text("[core]\n")),
            lambda: (pointer.unlink(), os.mkfifo(pointer)),
        ):
            damage()
            await self.assert_whole_when_leased(pool, broken)
            assert (pointer.is_symlink(), pointer.read_text()) == (False, good)
            await pool.release_worktree(broken)

        assert not (tmp_path / "evil").exists()

    async def test_the_registration_was_redirected(self, pool: WorktreePool, broken: Worktree, tmp_path: Path) -> None:
        (broken.admin / "commondir").write_text(f"{tmp_path}/evil\n")
        (broken.admin / "gitdir").write_text("/elsewhere/.git\n")
        (broken.admin / "HEAD").write_text("ref: refs/heads/main\n")
        await self.assert_whole_when_leased(pool, broken)
