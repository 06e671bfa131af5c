"""Leases: exact content, recycling, repair, many at once, many processes, kills."""

import os
import shutil
from pathlib import Path

import anyio
import pytest

from tests.unit.worktrees.conftest import EXPECTED, FILES, Project, content
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.errors import GitError
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import snapshot_worktree

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


async def test_a_lease_is_a_real_worktree_with_exactly_the_commits_files(
    project: Project, worktree: Worktree, tmp_path: Path
) -> None:
    assert content(worktree.root) == EXPECTED
    assert worktree.root == tmp_path / "pool" / worktree.name
    assert worktree.admin.parent == project.root / ".git" / "worktrees"
    assert Project(worktree.root).git("status", "--porcelain", "--ignored") == ""
    assert Project(worktree.root).git("rev-parse", "HEAD") == worktree.commit
    assert f"worktree {worktree.root}\nHEAD {worktree.commit}\ndetached\nlocked" in project.git(
        "worktree", "list", "--porcelain"
    )


async def test_leasing_leaves_the_users_checkout_alone(project: Project, pool: WorktreePool) -> None:
    project.write({"src/app.py": "work in progress\n", "untracked.txt": "x"})
    before = project.fingerprint()

    first = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    await pool.release_worktree(first)
    await pool.release_worktree(await pool.lease_worktree(first.commit))
    await pool.remove_idle_worktrees()

    assert project.fingerprint() == before
    assert project.git("worktree", "list").count("\n") == 0


async def test_a_pool_inside_the_users_checkout_is_refused(repository: GitRepository) -> None:
    with pytest.raises(GitError, match="cannot lie inside the checkout"):
        WorktreePool(repository, repository.root / ".orchestrate" / "workspaces")


async def test_the_users_own_settings_make_no_difference_to_what_a_worktree_holds(
    project: Project, tmp_path: Path
) -> None:
    base = project.commit({".gitattributes": "*.txt text=auto\n", "lines.txt": "a\nb\n"})
    project.git("sparse-checkout", "set", "src")
    assert not (project.root / "tests").exists()
    for key, value in {
        "core.autocrlf": "true",
        "core.eol": "crlf",
        "core.fileMode": "false",
        "core.symlinks": "false",
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "feature.manyFiles": "true",
        "index.version": "4",
        "core.checkStat": "minimal",
        "core.trustctime": "false",
        "checkout.defaultRemote": "origin",
        "worktree.guessRemote": "true",
        "core.worktree": str(tmp_path / "elsewhere"),
    }.items():
        project.git("config", "--worktree" if key == "core.worktree" else "--local", key, value)
    repository = GitRepository.open(project.root)
    pool = WorktreePool(repository, tmp_path / "pool")

    for _ in range(2):
        worktree = await pool.lease_worktree(base)
        (worktree.root / "src" / "app.py").chmod(0o755)
        held = content(worktree.root)
        taken = await snapshot_worktree(worktree, "work", None)
        await pool.release_worktree(worktree)
        assert held == {**EXPECTED, ".gitattributes": b"*.txt text=auto\n", "lines.txt": b"a\nb\n"}
        assert project.git("diff-tree", "-r", "--name-only", base, taken.commit) == "src/app.py"


async def test_a_submodule_of_the_users_is_a_repository_like_any_other(project: Project, tmp_path: Path) -> None:
    outer = Project(tmp_path / "outer")
    outer.root.mkdir()
    outer.git("init", "-q")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project.root), "sub")
    repository = GitRepository.open(outer.root / "sub")
    pool = WorktreePool(repository, tmp_path / "pool")

    worktree = await pool.lease_worktree(repository.read_head_commit())
    (worktree.root / "new").write_text("x")
    taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/x")

    assert (repository.root, repository.list_dirty_paths()) == (outer.root / "sub", ())
    assert sorted(Project(repository.root).files(taken.tree)) == sorted([*FILES, "new"])


async def test_a_repository_with_sha256_has_worktrees_as_well(tmp_path: Path) -> None:
    project = Project(tmp_path / "new")
    project.root.mkdir()
    project.git("init", "-q", "--object-format=sha256")
    base = project.commit(FILES)
    pool = WorktreePool(GitRepository.open(project.root), tmp_path / "pool")

    for _ in range(2):
        worktree = await pool.lease_worktree(base)
        (worktree.root / "new").write_text("x")
        taken = await snapshot_worktree(worktree, "work", None)
        await pool.release_worktree(worktree)

    assert (len(taken.commit), content(worktree.root)) == (64, {**EXPECTED, "new": b"x"})


async def test_a_released_worktree_is_recycled_and_nothing_of_its_last_use_is_left(
    pool: WorktreePool, project: Project
) -> None:
    first = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    inode = first.root.stat().st_ino
    mess = Project(first.root)
    mess.write({"src/app.py": "changed\n", "new/file.txt": "x", "noise.log": "ignored", "build/x/y": "ignored"})
    (first.root / "README.md").unlink()
    shutil.rmtree(first.root / "tests")
    (first.root / "empty" / "dirs").mkdir(parents=True)
    await pool.release_worktree(first)

    second = await pool.lease_worktree(first.commit)

    assert (second.name, second.root.stat().st_ino) == (first.name, inode)
    assert content(second.root) == EXPECTED
    assert Project(second.root).git("status", "--porcelain", "--ignored") == ""


async def test_a_recycled_worktree_goes_to_any_other_commit(pool: WorktreePool, project: Project) -> None:
    base = project.git("rev-parse", "HEAD")
    project.git("rm", "-rq", "src/deep")
    project.git("mv", "tests/test_app.py", "tests/moved.py")
    other = project.commit({"src/app.py": "other\n", "docs": "a file now\n"})
    last = project.commit({"more/x": "1"})

    seen = []
    for commit in (base, other, last, base, other):
        worktree = await pool.lease_worktree(commit)
        seen.append((worktree.name, sorted(content(worktree.root)) == sorted(project.files(commit))))
        assert Project(worktree.root).git("status", "--porcelain") == ""
        await pool.release_worktree(worktree)

    assert seen == [("w1", True)] * 5


async def test_directories_and_files_may_change_places_between_commits(pool: WorktreePool, project: Project) -> None:
    base = project.git("rev-parse", "HEAD")
    project.git("rm", "-rq", "src")
    other = project.commit({"src": "a file\n"})
    project.git("rm", "-rq", "README.md")
    third = project.commit({"README.md/part": "a directory\n"})

    for commit in (base, other, base, third, base):
        worktree = await pool.lease_worktree(commit)
        assert sorted(content(worktree.root)) == sorted(project.files(commit))
        await pool.release_worktree(worktree)


async def test_two_leases_are_two_worktrees(pool: WorktreePool, repository: GitRepository) -> None:
    first, second = (
        await pool.lease_worktree(repository.read_head_commit()),
        await pool.lease_worktree(repository.read_head_commit()),
    )

    assert first.root != second.root
    (first.root / "README.md").write_text("mine\n")
    assert content(second.root) == EXPECTED


async def test_a_commit_that_does_not_exist_is_refused_and_nothing_stays_leased(pool: WorktreePool) -> None:
    with pytest.raises(GitError):
        await pool.lease_worktree("0" * 39 + "1")

    assert await pool.remove_idle_worktrees() == ()


async def test_a_cancelled_lease_is_given_back(pool: WorktreePool, repository: GitRepository) -> None:
    for pause in (0.0, 0.002, 0.005, 0.01, 0.02):
        with anyio.move_on_after(pause):
            await pool.lease_worktree(repository.read_head_commit())
            break

    worktree = await pool.lease_worktree(repository.read_head_commit())

    assert worktree.name in {"w1", "w2"}
    assert content(worktree.root) == EXPECTED


async def test_a_release_twice_is_no_error_and_frees_nobody_elses_lease(
    pool: WorktreePool, repository: GitRepository
) -> None:
    first = await pool.lease_worktree(repository.read_head_commit())
    await pool.release_worktree(first)
    second = await pool.lease_worktree(repository.read_head_commit())
    third = await pool.lease_worktree(repository.read_head_commit())

    assert {second.name, third.name} == {"w1", "w2"}


async def test_idle_worktrees_are_told_and_discarded_but_leased_ones_stay(
    pool: WorktreePool, repository: GitRepository
) -> None:
    kept, idle = (
        await pool.lease_worktree(repository.read_head_commit()),
        await pool.lease_worktree(repository.read_head_commit()),
    )
    await pool.release_worktree(idle)

    assert pool.list_idle_worktrees() == (idle.name,)
    assert await pool.remove_idle_worktrees() == (idle.name,)

    assert content(kept.root) == EXPECTED
    assert not idle.root.exists()
    assert not idle.admin.exists()
    assert sorted(place.name for place in kept.root.parent.iterdir()) == sorted(
        [kept.name, f"{kept.name}.json", f"{kept.name}.lock"]
    )


@needs_root
async def test_with_an_owner_everything_in_a_worktree_belongs_to_them(project: Project, tmp_path: Path) -> None:
    repository = GitRepository.open(project.root)
    pool = WorktreePool(repository, tmp_path / "pool", owner=12345)
    precious = tmp_path / "precious"
    precious.write_text("root's")
    (project.root / "link").symlink_to(precious)
    base = project.commit({})
    other = project.commit({"src/app.py": "other\n", "brand/new.py": "x\n"})

    for commit in (base, other, base):
        worktree = await pool.lease_worktree(commit)
        assert owners(worktree.root) == {12345}
        assert await worktree.git.run_text("diff-files", "--name-only") == ""
        (worktree.root / "src" / "deep").rename(worktree.root / "moved")
        (worktree.root / "noise.log").write_text("by root")
        await worktree.restore_tree(project.tree(other))
        os.chown(worktree.root / "noise.log", 12345, -1)
        assert owners(worktree.root) == {12345}
        assert (worktree.root / "brand" / "new.py").exists()
        await pool.release_worktree(worktree)

    assert (await pool.lease_worktree(base)).root.joinpath("link").is_symlink()
    assert precious.stat().st_uid == 0


def owners(root: Path) -> set[int]:
    return {place.lstat().st_uid for place in (root, *root.rglob("*"))}


@needs_root
async def test_content_that_a_worker_hides_behind_old_times_is_still_replaced(project: Project, tmp_path: Path) -> None:
    repository = GitRepository.open(project.root)
    for owner in (None, 12345):
        pool = WorktreePool(repository, tmp_path / f"pool-{owner}", owner=owner)
        worktree = await pool.lease_worktree(repository.read_head_commit())
        victim = worktree.root / "src" / "app.py"
        times = victim.stat()
        victim.write_text("print('APP')\n")
        os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
        await pool.release_worktree(worktree)

        assert content((await pool.lease_worktree(repository.read_head_commit())).root) == EXPECTED


async def test_recycling_at_the_same_commit_writes_no_file_that_was_not_changed(
    pool: WorktreePool, repository: GitRepository
) -> None:
    worktree = await pool.lease_worktree(repository.read_head_commit())
    before = {path: (worktree.root / path).stat().st_ino for path in FILES}
    (worktree.root / "src" / "app.py").write_text("changed")
    await pool.release_worktree(worktree)
    await pool.lease_worktree(repository.read_head_commit())

    assert content(worktree.root) == EXPECTED
    assert {path for path in FILES if (worktree.root / path).stat().st_ino != before[path]} <= {"src/app.py"}


async def test_a_directory_that_was_in_order_is_looked_at_again_once_it_has_changed(
    pool: WorktreePool, repository: GitRepository
) -> None:
    worktree = await pool.lease_worktree(repository.read_head_commit())
    await anyio.sleep(0.15)
    for number in range(3):
        await pool.release_worktree(worktree)
        worktree = await pool.lease_worktree(repository.read_head_commit())
        assert content(worktree.root) == EXPECTED
        if number == 0:
            (worktree.root / "src" / "deep" / "er" / "left").write_text("x")
        if number == 1:
            shutil.rmtree(worktree.root / "src" / "deep")


async def test_a_worktree_whose_preparation_was_cancelled_is_whole_the_next_time(
    pool: WorktreePool, repository: GitRepository
) -> None:
    worktree = await pool.lease_worktree(repository.read_head_commit())
    await anyio.sleep(0.15)
    for number in range(6):
        await pool.release_worktree(worktree)
        with anyio.move_on_after(number * 0.004):
            worktree = await pool.lease_worktree(repository.read_head_commit())
        await pool.release_worktree(worktree)
        worktree = await pool.lease_worktree(repository.read_head_commit())
        assert content(worktree.root) == EXPECTED
        shutil.rmtree(worktree.root / "src" / "deep")
        (worktree.root / "README.md").write_text("changed")
