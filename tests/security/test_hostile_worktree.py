"""A worktree after a worker has been in it: whatever lies there, nothing of it runs and the content is right.

Each trap is first sprung with plain git, which proves that it works; then our whole way is gone with it in place.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import FILES, Project, whole_way
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import snapshot_worktree


@dataclass(frozen=True)
class Marker:
    """A file outside every repository; it exists once something has run."""

    path: Path

    @property
    def command(self) -> str:
        return f"sh -c 'touch {self.path}; cat' --"

    def sprung(self) -> bool:
        found = self.path.exists()
        self.path.unlink(missing_ok=True)
        return found


@pytest.fixture
def marker(tmp_path: Path) -> Marker:
    return Marker(tmp_path / "marker")


@pytest.fixture(autouse=True)
def _users_checkout_is_untouched(project: Project, marker: Marker) -> Iterator[None]:
    project.write({"src/app.py": "the user's own work\n", "mine.txt": "untracked\n"})
    before = project.fingerprint()
    yield
    assert project.fingerprint() == before
    assert not marker.path.exists()


def arm(git_dir: Path, marker: Marker, *, is_bare: bool = False) -> None:
    """Make a git directory run the marker from its configuration and from every hook."""
    (git_dir / "hooks").mkdir(parents=True, exist_ok=True)
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "pre-commit"):
        (git_dir / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {marker.path}\n")
        (git_dir / "hooks" / hook).chmod(0o755)
    (git_dir / "config").write_text(
        f"[core]\nrepositoryformatversion = 0\nbare = {str(is_bare).lower()}\n"
        f'fsmonitor = "{marker.command}"\nhooksPath = {git_dir}/hooks\n'
        f'[filter "evil"]\nclean = "{marker.command}"\nsmudge = "{marker.command}"\nrequired = true\n'
        f'[diff "evil"]\ntextconv = "{marker.command}"\n'
    )


def nested(place: Path, marker: Marker, *, has_commit: bool = True) -> Path:
    """A repository of its own that runs the marker when git looks at it."""
    place.mkdir(parents=True, exist_ok=True)
    inner = Project(place)
    inner.git("init", "-q")
    inner.write({"inner.py": "x\n", ".gitattributes": "* filter=evil diff=evil\n"})
    if has_commit:
        inner.git("add", "-A")
        inner.git("commit", "-q", "-m", "inner")
    arm(place / ".git", marker)
    (place / "inner.py").write_text("y\n")  # as long as before, so that git has to filter the content to compare it
    return place


@pytest.mark.attack(23)
async def test_an_evil_git_directory_in_place_of_the_pointer(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker
) -> None:
    (worktree.root / ".git").unlink()
    evil = Project(worktree.root)
    evil.git("init", "-q")
    arm(worktree.root / ".git", marker)
    evil.write({"src/app.py": "work\n", ".gitattributes": "* filter=evil diff=evil\n"})
    evil.git("status", ok=False)
    evil.git("add", "-A", ok=False)
    assert marker.sprung()

    taken = await whole_way(worktree, pool)

    assert sorted(project.files(taken.tree)) == sorted([*FILES, ".gitattributes"])
    assert project.show(f"{taken.tree}:src/app.py") == b"work\n"
    assert taken.dropped == ()


@pytest.mark.attack(23)
async def test_a_pointer_to_an_evil_git_directory(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker
) -> None:
    nested(worktree.root / "hidden", marker)
    (worktree.root / ".git").write_text("gitdir: hidden/.git\n")
    Project(worktree.root).git("status", ok=False)
    assert marker.sprung()

    taken = await whole_way(worktree, pool)

    assert project.files(taken.tree) == sorted(FILES)
    assert [line.split(":")[0] for line in taken.dropped] == ["hidden/"]


@pytest.mark.parametrize("kind", ["link to a directory", "link to itself", "pipe", "empty directory", "nothing"])
async def test_anything_else_in_place_of_the_pointer(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker, tmp_path: Path, kind: str
) -> None:
    pointer = worktree.root / ".git"
    nested(tmp_path / "evil", marker)
    pointer.unlink()
    makers: dict[str, Callable[[], object]] = {
        "link to a directory": lambda: pointer.symlink_to(tmp_path / "evil" / ".git"),
        "link to itself": lambda: pointer.symlink_to(".git"),
        "pipe": lambda: os.mkfifo(pointer),
        "empty directory": pointer.mkdir,
        "nothing": lambda: None,
    }
    makers[kind]()
    (worktree.root / "src" / "app.py").write_text("work\n")

    taken = await whole_way(worktree, pool)

    assert project.show(f"{taken.tree}:src/app.py") == b"work\n"
    assert (tmp_path / "evil" / ".git" / "config").exists()


@pytest.mark.attack(24)
async def test_the_registration_redirected_to_an_evil_repository(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker, tmp_path: Path
) -> None:
    nested(tmp_path / "evil", marker)
    (worktree.admin / "commondir").write_text(f"{tmp_path}/evil/.git\n")
    (worktree.admin / "config.worktree").write_text((tmp_path / "evil" / ".git" / "config").read_text())
    (worktree.root / "src" / "app.py").write_text("work\n")
    Project(worktree.root).git("status", ok=False)
    assert marker.sprung()

    taken = await whole_way(worktree, pool)

    assert project.show(f"{taken.tree}:src/app.py") == b"work\n"


@pytest.mark.attack(25)
@pytest.mark.parametrize("has_commit", [True, False])
async def test_a_nested_repository_is_left_out_by_name_and_never_looked_into(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker, has_commit: bool
) -> None:
    place = nested(worktree.root / "vendor" / "lib", marker, has_commit=has_commit)
    (worktree.root / "vendor" / "own.py").write_text("kept\n")
    Project(place).git("status", ok=False)
    assert marker.sprung()

    taken = await whole_way(worktree, pool)

    assert project.files(taken.tree) == sorted([*FILES, "vendor/own.py"])
    assert len(taken.dropped) == 1
    assert taken.dropped[0].startswith("vendor/lib/: it is a git repository of its own")


@pytest.mark.attack(25)
async def test_a_git_directory_inside_a_tracked_directory_hides_nothing_and_does_not_survive(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker
) -> None:
    nested(worktree.root / "src", marker)
    (worktree.root / "src" / "app.py").write_text("work\n")

    taken = await whole_way(worktree, pool)

    assert project.files(taken.tree) == sorted([*FILES, "src/.gitattributes", "src/inner.py"])
    assert project.show(f"{taken.tree}:src/app.py") == b"work\n"


@pytest.mark.attack(26)
async def test_an_embedded_bare_repository_is_only_files(
    worktree: Worktree, pool: WorktreePool, project: Project, marker: Marker
) -> None:
    (worktree.root / ".git").unlink()
    for place in (worktree.root, worktree.root / "bare"):
        place.mkdir(exist_ok=True)
        Project(place).git("init", "-q", "--bare", ".")
        arm(place, marker, is_bare=True)
        Project(place).git("tag", "x", Project(place).git("hash-object", "-w", "config"), ok=False)
        assert marker.sprung()

    taken = await whole_way(worktree, pool)

    assert "bare/config" in project.files(taken.tree)
    assert "HEAD" in project.files(taken.tree)


@pytest.mark.attack(25)
@pytest.mark.parametrize("is_at_its_commit", [True, False])
async def test_a_submodule_turned_into_an_evil_repository(
    project: Project, pool: WorktreePool, marker: Marker, is_at_its_commit: bool
) -> None:
    head = project.git("rev-parse", "HEAD")
    blob = project.git("hash-object", "-w", "--stdin", stdin=b"[submodule]\n")
    listing = project.git("ls-tree", "HEAD")
    tree = project.git(
        "mktree",
        stdin=f"{listing}\n160000 commit {head}\tsub\n100644 blob {blob}\t.gitmodules\n".encode(),
    )
    commit = project.git("commit-tree", tree, "-p", head, "-m", "with a submodule")
    worktree = await pool.lease_worktree(commit)
    place = nested(worktree.root / "sub", marker)
    if is_at_its_commit:
        (place / ".git" / "objects" / "info" / "alternates").write_text(f"{project.root}/.git/objects\n")
        (place / ".git" / "HEAD").write_text(f"{head}\n")
    Project(worktree.root).git("-c", "safe.directory=*", "status", ok=False)
    assert marker.sprung()
    (worktree.root / "src" / "app.py").write_text("work\n")

    taken = await snapshot_worktree(worktree, "work", None)
    await worktree.search_text("x", "**", 5)
    await worktree.restore_tree(taken.tree)

    named = () if is_at_its_commit else ("sub: the submodule's own changes cannot be committed",)
    assert taken.dropped == named
    assert project.git("rev-parse", f"{taken.tree}:sub") == head
    assert list(place.iterdir()) == []
    await pool.release_worktree(worktree)
    again = await pool.lease_worktree(commit)
    assert list((again.root / "sub").iterdir()) == []


async def test_a_submodule_may_be_removed(project: Project, pool: WorktreePool) -> None:
    head = project.git("rev-parse", "HEAD")
    tree = project.git("mktree", stdin=f"{project.git('ls-tree', 'HEAD')}\n160000 commit {head}\tsub\n".encode())
    worktree = await pool.lease_worktree(project.git("commit-tree", tree, "-p", head, "-m", "with a submodule"))
    (worktree.root / "sub").rmdir()

    taken = await snapshot_worktree(worktree, "without", None)

    assert (taken.tree, taken.dropped) == (project.tree(head), ())
    await pool.release_worktree(worktree)
    assert (await pool.lease_worktree(worktree.commit)).root.joinpath("sub").is_dir()


async def test_a_worker_cannot_move_the_users_branches(
    worktree: Worktree, pool: WorktreePool, project: Project, repository: GitRepository
) -> None:
    """Even with the real registration at hand, what a worker commits there is not what is taken."""
    main = project.git("rev-parse", "main")
    (worktree.admin / "HEAD").write_text("ref: refs/heads/main\n")
    (worktree.root / "src" / "app.py").write_text("work\n")

    taken = await whole_way(worktree, pool)

    assert project.git("rev-parse", "main") == main
    assert project.git("rev-parse", f"{taken.commit}^") == main
    assert repository.list_checked_out_branches() == {"main": project.root}
