"""A repository whose own git settings name programs and detours: none of them acts when the user's git pushes."""

import base64
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.running.projects import calculator, git
from tests.running.remotes import PASSWORD, USER, bare, http_remotes
from worktrees.errors import GitError
from worktrees.ref_store.remote_refs import fetch_refs, list_remote_refs, push_commit, read_remote_tip, swap_remote_refs
from worktrees.repositories.repository import GitRepository

pytestmark = pytest.mark.attack(53)

BRANCH = "orchestrate/better"
SSH = "ssh://nobody@127.0.0.1:9/repo.git"
Settings = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True)
class Scene:
    """A repository with a bare one beside it as `origin`; `marker` is what a program that ran would leave."""

    root: Path
    remote: Path
    marker: Path

    @property
    def program(self) -> str:
        """A program that leaves the marker, whatever it is told."""
        place = self.root.parent / "program"
        place.write_text(f"#!/bin/sh\ntouch {self.marker}\n")
        place.chmod(0o755)
        return str(place)

    def set(self, settings: Mapping[str, str]) -> None:
        """Write settings into the repository's own configuration."""
        for key, value in settings.items():
            git(self.root, "config", "--add", key, value)

    def set_own(self, key: str, value: str) -> None:
        """Write a setting into the user's configuration; by its path, so that it can be no other file."""
        git(self.root, "config", "--file", str(self.root.parent / "gitconfig"), "--add", key, value)

    def plain(self, *words: str) -> None:
        """Have plain git do the same as its user would, whatever comes of it."""
        environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        subprocess.run(["git", *words], cwd=self.root, env=environ, capture_output=True, check=False, timeout=30)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text("[protocol]\n\tallow = always\n")
    root = calculator(tmp_path / "repo")
    return Scene(root, bare(tmp_path / "remote.git", root), tmp_path / "marker")


def ssh_command(program: str) -> Mapping[str, str]:
    return {"remote.origin.url": SSH, "remote.origin.pushurl": SSH, "core.sshCommand": program}


def git_proxy(program: str) -> Mapping[str, str]:
    address = "git://127.0.0.1:9/repo.git"
    return {"remote.origin.pushurl": address, "core.gitProxy": program}


def receive_pack(program: str) -> Mapping[str, str]:
    return {"remote.origin.receivepack": program, "remote.origin.uploadpack": program}


def rewritten_address(program: str) -> Mapping[str, str]:
    return {f"url.ext::{program} .insteadOf": "/", "protocol.ext.allow": "always"}


def rewritten_push_address(program: str) -> Mapping[str, str]:
    return {f"url.ext::{program} .pushInsteadOf": "/", "protocol.ext.allow": "always"}


def address_of_a_program(program: str) -> Mapping[str, str]:
    return {"remote.origin.pushurl": f"ext::{program}", "protocol.ext.allow": "always"}


def remote_helper(program: str) -> Mapping[str, str]:
    return {"remote.origin.vcs": "ext", "remote.origin.pushurl": program, "protocol.ext.allow": "always"}


KINDS: tuple[Settings, ...] = (
    ssh_command,
    git_proxy,
    receive_pack,
    rewritten_address,
    rewritten_push_address,
    address_of_a_program,
    remote_helper,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_no_setting_of_the_repository_runs_a_program_at_a_push(scene: Scene, kind: Settings) -> None:
    scene.set(kind(scene.program))
    repository = GitRepository.open(scene.root)
    for _ in range(2):
        for talk in (
            read_remote_tip(repository.git, "origin", BRANCH),
            push_commit(repository.git, "origin", repository.read_head_commit(), BRANCH),
            list_remote_refs(repository.git, "origin", "refs/orchestrate/*"),
            fetch_refs(repository.git, "origin", [f"refs/heads/{BRANCH}"]),
            swap_remote_refs(
                repository.git, "origin", {"refs/orchestrate/ci/key": (repository.read_head_commit(), None)}
            ),
        ):
            try:
                await talk
            except GitError:
                continue
    assert not scene.marker.exists()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_control_plain_git_runs_it(scene: Scene, kind: Settings) -> None:
    scene.set(kind(scene.program))
    scene.plain("push", "origin", f"HEAD:refs/heads/{BRANCH}")
    assert scene.marker.exists()


def helper(marker: Path, password: str) -> str:
    return f"!f() {{ touch {marker}; echo username={USER}; echo password={password}; }}; f"


async def test_the_users_credential_helper_is_asked_and_that_of_the_repository_is_not(
    scene: Scene, tmp_path: Path
) -> None:
    scene.set_own("credential.helper", helper(tmp_path / "own", PASSWORD))
    scene.set({"credential.helper": ""})
    scene.set({"credential.helper": helper(scene.marker, "wrong"), "core.askPass": scene.program})
    with http_remotes(tmp_path) as url:
        git(scene.root, "remote", "set-url", "origin", f"{url}/remote.git")
        repository = GitRepository.open(scene.root)
        scene.plain("push", "origin", "HEAD:refs/heads/control")
        assert scene.marker.exists()
        scene.marker.unlink()
        await push_commit(repository.git, "origin", repository.read_head_commit(), BRANCH)
    assert git(scene.remote, "rev-parse", BRANCH) == repository.read_head_commit()
    assert (tmp_path / "own").exists()
    assert not scene.marker.exists()


async def test_requests_do_not_go_through_a_proxy_of_the_repositorys(scene: Scene, tmp_path: Path) -> None:
    scene.set_own("credential.helper", helper(tmp_path / "own", PASSWORD))
    with http_remotes(tmp_path) as url:
        git(scene.root, "remote", "set-url", "origin", f"{url}/remote.git")
        scene.set({"http.proxy": "http://127.0.0.1:9", f"http.{url}.proxy": "http://127.0.0.1:9"})
        repository = GitRepository.open(scene.root)
        scene.plain("push", "origin", "HEAD:refs/heads/control")
        await push_commit(repository.git, "origin", repository.read_head_commit(), BRANCH)
    assert git(scene.remote, "branch", "--format=%(refname:short)") == BRANCH


async def test_a_remote_that_came_within_the_checkout_is_refused(scene: Scene) -> None:
    """Its hooks would run as the user: git takes what is pushed to a path with the settings of what lies there."""
    evil = scene.root / "vendored" / "evil.git"
    bare(evil, scene.root, name="evil")
    hook = evil / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\ntouch {scene.marker}\n")
    hook.chmod(0o755)
    repository = GitRepository.open(scene.root)
    for address in (str(evil), "vendored/evil.git", f"file://{evil}", "/proc/self/cwd/vendored/evil.git"):
        git(scene.root, "remote", "set-url", "evil", address)
        with pytest.raises(GitError):
            await push_commit(repository.git, "evil", repository.read_head_commit(), BRANCH)
        assert not scene.marker.exists()
    scene.plain("push", "evil", f"HEAD:refs/heads/{BRANCH}")
    assert scene.marker.exists()


async def test_the_users_own_git_settings_stay_in_force(scene: Scene, tmp_path: Path) -> None:
    """Also those that count for this repository alone, by its place."""
    own = tmp_path / "own.gitconfig"
    own.write_text(f'[core]\n\tsshCommand = "touch {tmp_path}/ssh; false"\n[alias]\n\todd = "!echo \\"a\\\\b\\""\n')
    scene.set_own(f"includeIf.gitdir:{scene.root}/.path", str(own))
    scene.set_own("url.ssh://nobody@127.0.0.1:9/.insteadOf", "work:")
    scene.set({"core.sshCommand": scene.program})
    git(scene.root, "remote", "set-url", "origin", "work:repo.git")
    repository = GitRepository.open(scene.root)
    with pytest.raises(GitError, match=r"own git settings core\.sshcommand are not used") as caught:
        await push_commit(repository.git, "origin", repository.read_head_commit(), BRANCH)
    assert "git config --global" in str(caught.value)
    assert (tmp_path / "ssh").exists()
    assert not scene.marker.exists()


async def test_a_header_that_a_ci_system_left_in_the_checkout_is_sent(scene: Scene, tmp_path: Path) -> None:
    """It is what checkouts of CI jobs are authorized by, and runs nothing."""
    word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    with http_remotes(tmp_path) as url:
        git(scene.root, "remote", "set-url", "origin", f"{url}/remote.git")
        scene.set({f"http.{url}/.extraheader": f"AUTHORIZATION: Basic {word}"})
        repository = GitRepository.open(scene.root)
        await push_commit(repository.git, "origin", repository.read_head_commit(), BRANCH)
    assert git(scene.remote, "rev-parse", BRANCH) == repository.read_head_commit()
