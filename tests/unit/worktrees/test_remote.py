"""Pushing as the user: forward only, with the user's credentials, without hooks and without asking anybody."""

from pathlib import Path

import pytest

from tests.running.projects import calculator, git
from tests.running.remotes import PASSWORD, USER, bare, http_remotes
from worktrees.errors import GitError, PushRefused, UnknownRemote
from worktrees.git import Git
from worktrees.ref_store.remote_refs import get_push_url, push_commit, read_remote_tip, swap_remote_refs
from worktrees.repositories.repository import GitRepository

BRANCH = "orchestrate/better"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def ours(root: Path) -> tuple[Git, str]:
    repository = GitRepository.open(root)
    return repository.git, repository.read_head_commit()


def commit(root: Path, text: str) -> str:
    """A new commit on the current branch."""
    (root / "more.txt").write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", text)
    return git(root, "rev-parse", "HEAD")


async def test_a_branch_is_made_and_moved_forward(root: Path, tmp_path: Path) -> None:
    bare(tmp_path / "remote.git", root)
    runner, first = ours(root)
    assert await read_remote_tip(runner, "origin", BRANCH) is None
    await push_commit(runner, "origin", first, BRANCH)
    assert await read_remote_tip(runner, "origin", BRANCH) == first
    second = commit(root, "two")
    await push_commit(runner, "origin", second, BRANCH)
    assert await read_remote_tip(runner, "origin", BRANCH) == second


async def test_a_branch_that_has_moved_away_is_left_alone(root: Path, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git", root)
    runner, first = ours(root)
    theirs = commit(root, "theirs")
    git(root, "push", "-q", "origin", f"{theirs}:refs/heads/{BRANCH}")
    git(root, "reset", "-q", "--hard", first)
    own = commit(root, "ours")
    with pytest.raises(PushRefused, match="rejected"):
        await push_commit(runner, "origin", own, BRANCH)
    assert git(remote, "rev-parse", BRANCH) == theirs


async def test_a_branch_that_somebody_moves_during_the_push_is_left_alone(root: Path, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git", root)
    runner, first = ours(root)
    await push_commit(runner, "origin", first, BRANCH)
    theirs = commit(root, "theirs")
    git(root, "push", "-q", "origin", f"{theirs}:refs/heads/other")
    git(root, "reset", "-q", "--hard", first)
    own = commit(root, "ours")
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/{BRANCH} {theirs}\n")
    hook.chmod(0o755)
    with pytest.raises(PushRefused, match="refuses"):
        await push_commit(runner, "origin", own, BRANCH)
    assert git(remote, "rev-parse", BRANCH) == theirs


async def test_a_remote_that_knows_no_atomic_push_gets_its_one_branch_all_the_same(root: Path, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git", root)
    git(remote, "config", "receive.advertiseAtomic", "false")
    runner, first = ours(root)
    with pytest.raises(GitError, match="does not support --atomic"):
        await swap_remote_refs(runner, "origin", {f"refs/heads/{BRANCH}": (first, None)})
    await push_commit(runner, "origin", first, BRANCH)
    assert git(remote, "rev-parse", BRANCH) == first


async def test_the_remote_may_refuse_and_its_reason_is_told(root: Path, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git", root)
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    runner, head = ours(root)
    with pytest.raises(PushRefused, match="pre-receive hook declined"):
        await push_commit(runner, "origin", head, BRANCH)


async def test_no_hook_of_the_users_repository_runs(root: Path, tmp_path: Path) -> None:
    bare(tmp_path / "remote.git", root)
    hook = root / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    hook.chmod(0o755)
    runner, head = ours(root)
    await push_commit(runner, "origin", head, BRANCH)
    assert not (tmp_path / "ran").exists()


async def test_what_the_environment_says_of_another_repository_does_not_count(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = bare(tmp_path / "remote.git", root)
    runner, head = ours(root)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "remote.origin.pushurl")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(tmp_path / "elsewhere"))
    await push_commit(runner, "origin", head, BRANCH)
    monkeypatch.undo()
    assert git(remote, "rev-parse", BRANCH) == head


async def test_a_relative_path_is_relative_to_the_checkout(root: Path, tmp_path: Path) -> None:
    bare(tmp_path / "remote.git", root, url="../remote.git")
    runner, head = ours(root)
    await push_commit(runner, "origin", head, BRANCH)
    assert git(tmp_path / "remote.git", "rev-parse", BRANCH) == head


async def test_a_remote_that_nobody_knows_is_named(root: Path) -> None:
    runner, _ = ours(root)
    with pytest.raises(UnknownRemote, match=r"no remote upstream \(the repository has none\)"):
        await get_push_url(runner, "upstream")


async def test_a_url_that_is_a_command_is_not_run(root: Path, tmp_path: Path) -> None:
    git(root, "remote", "add", "origin", f"ext::sh -c 'touch {tmp_path}/ran'")
    runner, _ = ours(root)
    with pytest.raises(GitError, match="not allowed"):
        await read_remote_tip(runner, "origin", BRANCH)
    assert not (tmp_path / "ran").exists()


async def test_the_users_credential_helper_is_asked(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    helper = f"!f() {{ echo username={USER}; echo password={PASSWORD}; }}; f"
    git(root, "config", "--file", str(settings), "credential.helper", helper)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    with http_remotes(tmp_path) as url:
        remote = bare(tmp_path / "remote.git", root, url=f"{url}/remote.git")
        runner, head = ours(root)
        await push_commit(runner, "origin", head, BRANCH)
        assert await read_remote_tip(runner, "origin", BRANCH) == head
    assert git(remote, "rev-parse", BRANCH) == head


async def test_without_credentials_nobody_is_asked_and_none_are_shown(root: Path, tmp_path: Path) -> None:
    with http_remotes(tmp_path) as url:
        wrong = url.replace("http://", "http://someone:secret@")
        bare(tmp_path / "remote.git", root, url=f"{wrong}/remote.git")
        runner, head = ours(root)
        with pytest.raises(GitError) as caught:
            await push_commit(runner, "origin", head, BRANCH)
    assert not isinstance(caught.value, PushRefused)
    assert "secret" not in f"{caught.value} {caught.value.stderr} {caught.value.args_}"
