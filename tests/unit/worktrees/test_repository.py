"""The user's repository: finding it from anywhere, refusing what cannot be worked on, reading without running."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.worktrees.conftest import Project, python
from worktrees.errors import GitError, NoCommit, NotARepository
from worktrees.repositories.configuration import has_setting, list_remotes
from worktrees.repositories.repository import GitRepository, create_repository

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.mark.parametrize("inside", [".", "src/deep", "src/app.py", ".git", ".git/refs"])
def test_a_repository_is_found_from_anywhere_inside_it(project: Project, inside: str) -> None:
    opened = GitRepository.open(project.root / inside)

    assert (opened.root, opened.git_dir, opened.common_dir) == (
        project.root,
        project.root / ".git",
        project.root / ".git",
    )
    assert (opened.git.git_dir, opened.git.work_tree) == (project.root / ".git", None)


def test_a_linked_worktree_of_the_user_is_a_checkout_like_any_other(project: Project, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    project.git("worktree", "add", "-q", "-b", "topic", str(linked))
    linked.joinpath("README.md").write_text("changed\n")

    opened = GitRepository.open(linked / "src")

    assert (opened.root, opened.git_dir, opened.common_dir) == (
        linked,
        project.root / ".git" / "worktrees" / "linked",
        project.root / ".git",
    )
    assert (opened.read_branch(), opened.list_dirty_paths()) == ("topic", ("README.md",))
    assert opened.list_checked_out_branches() == {"main": project.root, "topic": linked}


def test_a_worktree_of_a_bare_repository_can_be_worked_on(project: Project, tmp_path: Path) -> None:
    bare = Project(tmp_path / "bare.git")
    project.git("clone", "-q", "--bare", ".", str(bare.root))
    bare.git("worktree", "add", "-q", str(tmp_path / "checkout"), "main")

    opened = GitRepository.open(tmp_path / "checkout")

    assert (opened.root, opened.common_dir, opened.read_branch()) == (tmp_path / "checkout", bare.root, "main")
    assert opened.list_checked_out_branches() == {"main": tmp_path / "checkout"}


def test_a_link_to_a_checkout_leads_to_the_real_place(project: Project, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project.root)

    assert GitRepository.open(tmp_path / "link" / "src").root == project.root


def test_what_is_checked_out_is_told(project: Project, repository: GitRepository) -> None:
    assert (repository.read_branch(), repository.read_head_commit()) == ("main", project.git("rev-parse", "HEAD"))

    project.git("checkout", "-q", "--detach")

    assert (repository.read_branch(), repository.list_checked_out_branches()) == (None, {})


def test_changed_and_untracked_files_are_dirty_but_not_ignored_ones(
    project: Project, repository: GitRepository
) -> None:
    assert repository.list_dirty_paths() == ()

    project.write({"src/app.py": "changed\n", "new dir/näme\n.txt": "x", "noise.log": "x"})
    project.git("rm", "-q", "--cached", "README.md")

    assert repository.list_dirty_paths() == ("README.md", "new dir/näme\\n.txt", "src/app.py")


def test_reading_changes_nothing_in_the_users_checkout(project: Project) -> None:
    project.write({"src/app.py": "changed\n", "untracked": "x"})
    os.utime(project.root / "README.md")
    before = project.fingerprint()

    opened = GitRepository.open(project.root)
    opened.list_dirty_paths(), opened.read_branch(), opened.list_checked_out_branches()
    list_remotes(opened.common_dir)

    assert project.fingerprint() == before


def test_remotes_are_read_from_the_configuration(project: Project, repository: GitRepository) -> None:
    assert list_remotes(repository.common_dir) == {}

    project.git("remote", "add", "origin", "https://example.invalid/me/project.git")
    project.git("remote", "add", "my.fork-2", "/somewhere/else")

    assert list_remotes(repository.common_dir) == {
        "origin": "https://example.invalid/me/project.git",
        "my.fork-2": "/somewhere/else",
    }


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="does not exist: name a directory inside a git checkout"):
        GitRepository.open(tmp_path / "nowhere")


def test_a_directory_without_repository_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match=r"not inside a git repository: .*git init"):
        GitRepository.open(tmp_path)


@pytest.mark.parametrize("inside", [".", "objects"])
def test_a_bare_repository_is_refused_with_the_way_out(project: Project, tmp_path: Path, inside: str) -> None:
    project.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))

    with pytest.raises(NotARepository, match=r"bare\.git is a bare repository.*git clone"):
        GitRepository.open(tmp_path / "bare.git" / inside)


def test_a_repository_without_a_commit_is_refused_with_the_way_out(tmp_path: Path) -> None:
    Project(tmp_path).git("init", "-q")

    with pytest.raises(NoCommit, match="no commit to start from: commit something first"):
        GitRepository.open(tmp_path)


def test_a_pointer_to_a_repository_that_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(f"gitdir: {tmp_path}/gone/.git/worktrees/x\n")

    with pytest.raises(NotARepository, match=r"does not lead to a git repository.*git worktree repair"):
        GitRepository.open(tmp_path)


def test_a_git_file_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("hello\n")

    with pytest.raises(NotARepository, match="neither a git directory nor a pointer"):
        GitRepository.open(tmp_path)


def test_a_repository_of_a_format_git_does_not_know_is_refused(project: Project) -> None:
    project.git("config", "core.repositoryFormatVersion", "99")

    with pytest.raises(NotARepository, match=r"git cannot use the repository of .*project: .*99"):
        GitRepository.open(project.root)


@pytest.fixture
def strange(project: Project) -> Project:
    """The project as another user's."""
    for place in [project.root, *project.root.rglob("*")]:
        os.lchown(place, 12345, 12345)
    assert "dubious ownership" in project.complaint("status")
    return project


@needs_root
def test_a_repository_of_another_user_is_refused_as_git_refuses_it(strange: Project) -> None:
    with pytest.raises(NotARepository, match=r"dubious ownership.*git config --global --add safe\.directory"):
        GitRepository.open(strange.root / "src")


@needs_root
@pytest.mark.parametrize("place", ["", ".git"])
def test_one_directory_of_another_users_is_enough_to_be_refused(project: Project, place: str) -> None:
    os.chown(project.root / place, 12345, 12345)
    assert "dubious ownership" in project.complaint("status")
    with pytest.raises(NotARepository, match="dubious ownership"):
        GitRepository.open(project.root)


@needs_root
@pytest.mark.parametrize("line", ["{root}", "*"])
def test_a_repository_of_another_user_that_the_user_trusts_can_be_worked_on(
    strange: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    settings = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    settings.write_text(f"[safe]\n\tdirectory = {tmp_path}/elsewhere\n")
    with pytest.raises(NotARepository, match="dubious ownership"):
        GitRepository.open(strange.root)
    settings.write_text(f"[safe]\n\tdirectory = {line.format(root=strange.root)}\n")

    opened = GitRepository.open(strange.root / "src")

    assert (opened.read_branch(), opened.list_dirty_paths()) == ("main", ())


@needs_root
def test_a_repository_cannot_trust_itself(strange: Project) -> None:
    subprocess.run(["git", "config", "--file", str(strange.root / ".git/config"), "safe.directory", "*"], check=True)
    with pytest.raises(NotARepository, match="dubious ownership"):
        GitRepository.open(strange.root)


@needs_root
def test_under_sudo_repositories_of_the_caller_are_ones_own(strange: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "12345")
    assert "dubious ownership" not in strange.complaint("status")
    assert GitRepository.open(strange.root).read_branch() == "main"


def test_a_submodule_is_a_checkout_like_any_other(project: Project, tmp_path: Path) -> None:
    outer = Project(tmp_path / "outer")
    outer.root.mkdir()
    outer.git("init", "-q", "-b", "main")
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project.root), "lib/inner")

    assert (
        GitRepository.open(outer.root / "lib" / "inner").common_dir == outer.root / ".git" / "modules" / "lib" / "inner"
    )


def test_a_git_directory_apart_from_its_checkout_is_found(project: Project, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    project.git("init", "-q", "--separate-git-dir", str(apart))

    assert GitRepository.open(project.root).common_dir == apart


def test_a_directory_is_made_a_repository_that_plain_git_can_work_on(tmp_path: Path) -> None:
    made = Project(tmp_path / "new")
    made.write({"a b.txt": "x\n", "dir/.gitignore": "*.log\n", "dir/noise.log": "x"})

    opened = create_repository(made.root, "As published", ("Demo", "demo@localhost"))

    assert (opened.root, opened.read_branch(), opened.list_dirty_paths()) == (made.root, "main", ())
    assert made.files() == ["a b.txt", "dir/.gitignore"]
    assert made.git("log", "--format=%an <%ae> %s") == "Demo <demo@localhost> As published"
    assert made.git("status", "--porcelain") == ""
    assert made.git("config", "--get", "core.bare") == "false"
    assert made.git("config", "--get", "core.worktree", ok=False) == ""


def test_a_repository_is_not_made_twice(project: Project) -> None:
    before = project.fingerprint()

    with pytest.raises(GitError, match="is a repository already"):
        create_repository(project.root, "again")

    assert project.fingerprint() == before


def test_gitpython_is_not_imported_before_it_is_needed_and_starts_no_program(project: Project, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    code = (
        "import os, sys, pathlib\n"
        "import worktrees.checkouts.pool, worktrees.snapshots.snapshot, worktrees.object_store.merge\n"
        "from worktrees.repositories.configuration import list_remotes\n"
        "from worktrees.repositories.repository import GitRepository\n"
        "opened = GitRepository.open(pathlib.Path(sys.argv[1]))\n"
        "opened.read_head_commit(), opened.list_dirty_paths(), opened.read_branch()\n"
        "print('git' in sys.modules)\n"
        "os.environ['PATH'] = sys.argv[2]\n"
        "os.environ['GIT_COMMON_DIR'] = '/nonexistent'\n"
        "before = dict(os.environ)\n"
        "print(list_remotes(opened.common_dir))\n"
        "print('git' in sys.modules, before == dict(os.environ))\n"
    )
    project.git("remote", "add", "origin", "https://example.invalid/me/project.git")
    found = python(code, str(project.root), str(fake.parent)).communicate()[0].split("\n")
    assert found[:3] == ["False", "{'origin': 'https://example.invalid/me/project.git'}", "True True"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"\xff=1\n", b"nonsense\n", b"[remote\n"])
def test_a_configuration_that_nobody_understands_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config").write_bytes(content)
    with pytest.raises(GitError, match="cannot be read as a configuration"):
        list_remotes(tmp_path)


def test_a_setting_is_found_in_any_subsection_but_not_in_what_is_included(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("[http]\n\tproxy = x\n")
    (tmp_path / "config").write_text(
        f'[include]\n\tpath = {tmp_path}/more\n[HTTP "https://example.invalid/"]\n\textraHeader = a\n'
    )
    assert has_setting(tmp_path, "http", "extraheader")
    assert not has_setting(tmp_path, "http", "proxy")


def test_odd_names_of_changed_files_are_given_in_printable_form(project: Project, repository: GitRepository) -> None:
    project.write({"bad\udcff.txt": "x", "red\x1b[31m.txt": "x", "new\nline": "x"})

    assert repository.list_dirty_paths() == ("bad\\udcff.txt", "new\\nline", "red\\x1b[31m.txt")
