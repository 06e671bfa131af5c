"""Verbs that only read look for runs where those that work put them."""

from pathlib import Path

import pytest

from orchestrator.cli.run_lookup import find_checkout_root, find_state_directory
from orchestrator.errors import UsageProblem
from orchestrator.project.options import Options, load_project_context
from tests.running.projects import calculator, git


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "ORCHESTRATE__STATE__DIR"):
        monkeypatch.delenv(name, raising=False)
    return calculator(tmp_path / "repo")


@pytest.mark.parametrize("where", ["usual", "user", "environment"])
def test_runs_are_looked_for_where_the_configuration_puts_them(
    repo: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repo.parent
    if where == "user":
        (home / ".config" / "orchestrate").mkdir(parents=True)
        (home / ".config" / "orchestrate" / "config.toml").write_text(f'[state]\ndir = "{home}/mine"\n')
    if where == "environment":
        monkeypatch.setenv("ORCHESTRATE__STATE__DIR", f"{home}/other")
    place = {"usual": home / ".local" / "state" / "orchestrate", "user": home / "mine", "environment": home / "other"}
    found = find_state_directory(repo, "")
    assert found.path.parent == place[where]
    assert found == load_project_context(Options(repo)).state


def test_a_linked_worktree_and_a_subdirectory_have_a_top(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../linked")
    (repo / "sub").mkdir()
    assert (find_checkout_root(repo / "sub"), find_checkout_root(repo.parent / "linked")) == (
        repo,
        repo.parent / "linked",
    )


def test_a_bare_repository_is_called_what_it_is(repo: Path) -> None:
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    with pytest.raises(UsageProblem, match="is a bare repository, which has no files"):
        find_checkout_root(repo.parent / "bare.git")


@pytest.mark.parametrize("place", [".", ".git/state", "deep/in"])
def test_a_state_directory_inside_the_checkout_is_refused_before_anything_is_made(repo: Path, place: str) -> None:
    with pytest.raises(UsageProblem, match="would lie inside the checkout"):
        load_project_context(Options(repo, {"state": {"dir": str(repo / place)}}))
    assert git(repo, "status", "--porcelain", "--ignored") == ""
