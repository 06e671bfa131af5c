"""Attacks by a git directory that names other places of the host: alternates, links, pointers, pipes.

Each is shown to work on plain git, or on whoever reads the file as it stands.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from worktrees.errors import NotARepository
from worktrees.ref_store.remote_refs import fetch_refs
from worktrees.repositories.repository import GitRepository

SECRET = "canary-4711"


@pytest.fixture
def key(yard: Any) -> Path:
    """A private file of the user's."""
    file: Path = yard.home / ".ssh" / "id_rsa"
    file.parent.mkdir(mode=0o700)
    file.write_text(SECRET)
    return file


@pytest.fixture
def other(yard: Any) -> Any:
    """Another repository of the user's, which is nobody's business."""
    made = type(yard)(yard.repo.parent / "other", yard.home, yard.state, yard.backend)
    made.repo.mkdir()
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit({"plans.txt": SECRET})
    return made


def replace_with_link(place: Path, target: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


@pytest.mark.sandbox
@pytest.mark.conformance
@pytest.mark.attack(49)
async def test_no_directory_that_alternates_name_is_mounted(yard: Any, key: Path, shell_in: Any, outside: Any) -> None:
    relative = "../../../../home/.ssh"
    assert (yard.repo / ".git" / "objects" / relative / "id_rsa").exists()
    lines = [key.parent, yard.home, "/proc", "/run", yard.state, relative]
    (yard.repo / ".git" / "objects" / "info" / "alternates").write_text("".join(f"{line}\n" for line in lines))
    attack = f"cat {key}; cat /run/*/id_rsa; ls -A {yard.home} {yard.state}"
    assert SECRET in outside(attack)
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"git log --format=%s; {attack}")
        sources = {mount.source for mount in workspace.mounts}
    assert ran.output.startswith("Start\n")
    assert SECRET not in ran.output
    assert sources.isdisjoint(map(str, (key.parent, yard.home, "/proc", "/run", yard.state)))


@pytest.mark.sandbox
@pytest.mark.conformance
@pytest.mark.attack(49)
@pytest.mark.parametrize("way", ["alternates", "objects", "pack"])
async def test_of_borrowed_objects_only_those_of_the_commit_are_seen(
    yard: Any, other: Any, shell_in: Any, outside: Any, way: str
) -> None:
    secret = other.git("rev-parse", "HEAD:plans.txt")
    other.git("fetch", "--quiet", str(yard.repo), "main:theirs")
    for one in (yard, other):
        one.git("gc", "--quiet")
    objects, theirs = yard.repo / ".git" / "objects", other.repo / ".git" / "objects"
    if way == "alternates":
        (objects / "info" / "alternates").write_text(f"{theirs}\n")
    elif way == "objects":
        replace_with_link(objects, theirs)
    else:
        replace_with_link(objects / "pack", theirs / "pack")
    attack = f"git cat-file -p {secret}; cat {theirs}/pack/*.idx | wc -c"
    assert SECRET in outside(attack)
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"git show HEAD:README.md; {attack}")
    assert ran.output.startswith("hello\n")
    assert SECRET not in ran.output
    assert ran.output.endswith("\n0\n")


@pytest.mark.attack(49)
@pytest.mark.parametrize(
    "name",
    ["HEAD", "config", "info/exclude", "packed-refs", "refs", "refs/heads/main", "logs/refs/heads/main", "worktrees"],
)
def test_a_link_that_leads_out_of_the_git_directory_is_refused(yard: Any, other: Any, name: str) -> None:
    other.git("pack-refs")
    (other.repo / ".git" / "worktrees").mkdir()
    other.git("update-ref", "--create-reflog", "refs/heads/main", "HEAD")
    theirs = other.repo / ".git" / name
    if not theirs.exists():
        theirs.write_text(other.git("rev-parse", "HEAD") + "\n")
    replace_with_link(yard.repo / ".git" / name, theirs)
    assert (yard.repo / ".git" / name).exists()
    with pytest.raises(NotARepository, match=r"is a symbolic link to .*, outside the git directory"):
        GitRepository.open(yard.repo)


@pytest.mark.attack(49)
def test_links_within_the_git_directory_and_of_hooks_are_fine(yard: Any, tmp_path: Path) -> None:
    replace_with_link(yard.repo / ".git" / "hooks", tmp_path)
    replace_with_link(yard.repo / ".git" / "HEAD", Path("refs/heads/main"))
    assert GitRepository.open(yard.repo).read_branch() == "main"


@pytest.mark.attack(49)
@pytest.mark.parametrize("way", ["file", "link", "commondir", "worktree"])
def test_a_checkout_that_points_at_another_repository_is_refused(yard: Any, other: Any, way: str) -> None:
    git_dir, theirs = yard.repo / ".git", other.repo / ".git"
    if way == "commondir":
        (git_dir / "commondir").write_text(f"{theirs}\n")
    elif way == "link":
        replace_with_link(git_dir, theirs)
    else:
        other.git("worktree", "add", "--quiet", str(yard.repo.parent / "linked"))
        shutil.rmtree(git_dir)
        git_dir.write_text(f"gitdir: {theirs / 'worktrees' / 'linked' if way == 'worktree' else theirs}\n")
    assert yard.git("show", "main:plans.txt") == SECRET
    with pytest.raises(NotARepository, match="does not say it belongs to"):
        GitRepository.open(yard.repo)


@pytest.mark.attack(49)
def test_a_checkout_that_points_at_a_bare_repository_is_refused(yard: Any, other: Any) -> None:
    bare = other.repo.parent / "bare.git"
    other.git("clone", "--quiet", "--bare", str(other.repo), str(bare))
    shutil.rmtree(yard.repo / ".git")
    (yard.repo / ".git").write_text(f"gitdir: {bare}\n")
    assert yard.git("show", "main:plans.txt") == SECRET
    with pytest.raises(NotARepository, match="does not say it belongs to"):
        GitRepository.open(yard.repo)


@pytest.mark.attack(49)
@pytest.mark.parametrize("place", ["refs/heads/x", "objects/pack/pack-1.idx", "info/exclude", "alternate", "loose"])
def test_a_pipe_that_git_would_wait_in_is_refused_at_once(yard: Any, tmp_path: Path, place: str) -> None:
    git_dir = yard.repo / ".git"
    pipe = git_dir / place
    if place == "alternate":  # quoted as git may write it
        (git_dir / "objects" / "info" / "alternates").write_text(f'"{tmp_path}/a\\142c"\n')
        pipe = tmp_path / "abc" / "pack" / "pack-1.idx"
    elif place == "loose":
        pipe = git_dir / "objects" / "ab" / ("c" * 38)
    pipe.parent.mkdir(parents=True, exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    pipe.with_suffix(".pack").touch()
    if place != "info/exclude":  # which is read to list files alone
        with pytest.raises(subprocess.TimeoutExpired):
            words = ["git", "-C", str(yard.repo), "cat-file", "--batch-check"]
            subprocess.run(words, input=b"refs/heads/x\nab" + b"c" * 38, capture_output=True, timeout=0.5, check=False)
    with pytest.raises(NotARepository, match="is a pipe, a socket or a device"):
        GitRepository.open(yard.repo)


@pytest.mark.attack(49)
async def test_no_program_is_run_to_ask_a_lender_for_its_refs(yard: Any, other: Any, tmp_path: Path) -> None:
    mark, lender = tmp_path / "mark", tmp_path / "lender.git"
    yard.git("clone", "--quiet", "--bare", str(yard.repo), str(lender))
    (yard.repo / ".git" / "objects" / "info" / "alternates").write_text(f"{lender}/objects\n")
    yard.git("config", "core.alternateRefsCommand", f"touch {mark};:")
    yard.git("remote", "add", "origin", str(other.repo))
    other.git("branch", "topic")
    await fetch_refs(GitRepository.open(yard.repo).git, "origin", ["refs/heads/topic"])
    assert yard.git("show", "topic:plans.txt") == SECRET
    assert not mark.exists()
    other.commit({"more": "x"})
    yard.git("fetch", "--quiet", "origin")
    assert mark.exists()


@pytest.mark.sandbox
@pytest.mark.attack(49)
async def test_what_the_configuration_includes_is_neither_run_nor_shown(
    yard: Any, shell_in: Any, tmp_path: Path
) -> None:
    mark, included = tmp_path / "mark", yard.home / "private.cfg"
    program = f'"touch {mark};:"'
    included.write_text(f'[core]\n\tfsmonitor = {program}\n[filter "x"]\n\tclean = {program}\n[me]\n\tkey = {SECRET}\n')
    yard.git("config", "include.path", str(included))
    (yard.repo / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (yard.repo / "README.md").write_text("changed\n")
    assert GitRepository.open(yard.repo).list_dirty_paths() == ("README.md",)
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "git config --list; git status --short; echo more >> README.md")
        await workspace.take_snapshot("work", "refs/orchestrate/test")
    assert "core.bare=false" in ran.output
    assert SECRET not in ran.output
    assert not mark.exists()
    assert SECRET in yard.git("config", "--list")
    yard.git("status", "--short")
    assert mark.exists()


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.attack(49)
async def test_a_work_tree_that_the_configuration_names_is_not_looked_into(yard: Any, key: Path, shell_in: Any) -> None:
    yard.git("config", "core.worktree", str(yard.home))
    assert ".ssh/id_rsa" in yard.git("status", "--short", "--untracked-files=all")
    repository = GitRepository.open(yard.repo)
    assert (repository.root, repository.list_dirty_paths()) == (yard.repo, ())
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "git rev-parse --show-toplevel; ls -A; find / -name id_rsa 2> /dev/null")
        sources = {mount.source for mount in workspace.mounts}
    assert ran.output.splitlines()[0] == str(yard.repo)
    assert key.name not in ran.output
    assert str(yard.home) not in sources
