"""Repositories of other users are refused, as git itself refuses them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running.users import NOBODY
from worktrees.errors import NotARepository
from worktrees.repository import Repository

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")


@pytest.fixture
def foreign(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A checkout of another user's; ours has settings of git in a file of its own, which is empty."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    monkeypatch.delenv("SUDO_UID", raising=False)
    for folder, _, files in os.walk(repository.root):
        for name in (".", *files):
            os.chown(Path(folder) / name, NOBODY, NOBODY, follow_symlinks=False)
    return repository.root


def test_a_repository_of_another_user_is_refused_as_git_refuses_it(foreign: Path) -> None:
    git = subprocess.run(["git", "-C", str(foreign), "log"], capture_output=True, text=True, check=False)
    assert "dubious ownership" in git.stderr
    with pytest.raises(NotARepository, match=r"belongs to another user \(uid .*safe\.directory"):
        Repository.open(foreign)


def test_a_repository_inside_a_foreign_git_directory_is_refused(foreign: Path) -> None:
    os.chown(foreign, 0, 0)
    os.chown(foreign / ".git", 0, 0)
    assert Repository.open(foreign)
    os.chown(foreign / ".git", NOBODY, NOBODY)
    with pytest.raises(NotARepository, match="belongs to another user"):
        Repository.open(foreign)


@pytest.mark.parametrize("declared", ["{root}", "*", "{parent}/*"])
def test_what_the_user_declared_safe_is_opened(foreign: Path, declared: str) -> None:
    place = declared.format(root=foreign, parent=foreign.parent)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", place], check=True)
    assert Repository.open(foreign).root == foreign


def test_an_empty_value_takes_back_what_was_declared_before(foreign: Path) -> None:
    for value in ("*", ""):
        subprocess.run(["git", "config", "--global", "--add", "safe.directory", value], check=True)
    with pytest.raises(NotARepository):
        Repository.open(foreign)


def test_the_repositorys_own_settings_do_not_count(foreign: Path) -> None:
    (foreign / ".git" / "config").write_text("[safe]\n\tdirectory = *\n")
    with pytest.raises(NotARepository):
        Repository.open(foreign)


def test_root_by_sudo_uses_the_repository_of_whoever_called(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert Repository.open(foreign).root == foreign
    shutil.rmtree(foreign)
