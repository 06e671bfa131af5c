"""Attacks by a Python environment that the repository, or a package of its choice, has written."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import GrantedFolder, RegistryGrant, SandboxGrant
from orchestrator.provisioning.dependencies import install_dependencies
from tests.running.index import Loopback, loopback
from worktrees.repositories.repository import GitRepository

pytestmark = pytest.mark.sandbox

SECRET = "canary-1138"


@pytest.fixture
def private(yard: Any) -> Path:
    """A private directory of the user's, in no place that is known for credentials."""
    place: Path = yard.home / "diary"
    place.mkdir()
    (place / "today.txt").write_text(SECRET)
    yard.home.chmod(0o700)
    return place


def write_environment(place: Path, private: Path, way: str) -> None:
    """An environment that leans on a private directory: by its configuration, by links, or both in turns."""
    (place / "bin").mkdir(parents=True)
    home, link = private, Path("/usr/bin/python3")
    if way == "link":
        home, link = Path("/usr/bin"), private / "python3"
    if way == "chain":
        inner = place / "inner"
        write_environment(inner, private, "home")
        home = inner / "bin"
    if way == "dots":
        home = Path(sys.base_prefix) / "bin" / os.path.relpath(private, Path(sys.base_prefix) / "bin")
    (place / "pyvenv.cfg").write_text(f"home = {home}\nversion = 3.11.7\n")
    (place / "bin" / "python").symlink_to(link)


@pytest.mark.conformance
@pytest.mark.attack(50)
@pytest.mark.parametrize("way", ["home", "link", "chain", "dots"])
async def test_an_environment_in_the_checkout_opens_no_directory(
    yard: Any, private: Path, shell_in: Any, outside: Any, way: str
) -> None:
    write_environment(yard.repo / ".venv", private, way)
    attack = f"cat {private}/today.txt; ls .venv/pyvenv.cfg"
    assert SECRET in outside(attack)
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, attack)
        assert [str(private) in notice for notice in hands.notices] == [True]
    assert SECRET not in ran.output
    assert ran.output.endswith(".venv/pyvenv.cfg\n")


@pytest.mark.attack(50)
async def test_control_what_the_notice_tells_the_user_to_give_is_there_once_it_is_given(
    yard: Any, private: Path, shell_in: Any
) -> None:
    write_environment(yard.repo / ".venv", private, "home")
    async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path=str(private)),))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        assert SECRET in (await shell_in(workspace, f"cat {private}/today.txt")).output
        assert hands.notices == ()


@pytest.mark.conformance
@pytest.mark.attack(50)
async def test_an_environment_that_a_setup_has_made_opens_no_directory(
    yard: Any, private: Path, shell_in: Any, tmp_path: Path
) -> None:
    write_environment(tmp_path / "lent" / ".venv", private, "home")
    async with yard.hands(SandboxGrant(lent={".venv": str(tmp_path / "lent")})) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"cat .venv/pyvenv.cfg {private}/today.txt")
    assert ran.output.startswith(f"home = {private}\n")
    assert SECRET not in ran.output


@pytest.mark.attack(50)
async def test_an_active_environment_or_a_path_in_the_checkout_opens_no_directory(
    yard: Any, private: Path, shell_in: Any
) -> None:
    write_environment(yard.repo / ".venv", private, "home")
    (private / "python3").touch(mode=0o755)
    (yard.repo / ".venv" / "bin" / "python3").symlink_to(private / "python3")
    environ = {"VIRTUAL_ENV": str(yard.repo / ".venv"), "PATH": f"{yard.repo}/.venv/bin:/usr/bin"}
    async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path=".venv"),)), environ=environ) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"echo $VIRTUAL_ENV; cat {private}/today.txt")
    assert ran.output.startswith(f"{yard.repo}/.venv\n")
    assert SECRET not in ran.output


@pytest.mark.attack(50)
async def test_paths_that_packages_name_are_not_followed(yard: Any, private: Path, shell_in: Any, outside: Any) -> None:
    outside(f"{sys.executable} -m venv --without-pip .venv")
    (packages,) = (yard.repo / ".venv").glob("lib/python*/site-packages")
    (packages / "far.pth").write_text(f"{private}\n")
    (packages / "near").symlink_to(private)
    (packages / "direct_url.json").write_text(f'{{"url": "file://{private}", "dir_info": {{"editable": true}}}}')
    (private / "diary.py").write_text(f"TEXT = '{SECRET}'\n")
    attack = f".venv/bin/python -c 'import diary; print(diary.TEXT)'; cat {packages}/near/today.txt"
    assert outside(attack).count(SECRET) == 2
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, attack)
    assert "No module named 'diary'" in ran.output
    assert SECRET not in ran.output


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with loopback() as served:
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.setenv(name, "")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", served.index)
        monkeypatch.setenv("NPM_CONFIG_USERCONFIG", os.devnull)
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://{served.place}/npm/")
        yield served


@pytest.mark.slow
@pytest.mark.attack(50)
async def test_a_wheel_among_the_dependencies_opens_no_directory(
    yard: Any, private: Path, shell_in: Any, registry: Loopback
) -> None:
    data = {"answer-1.0.data/data/pyvenv.cfg": f"home = {private}\n"}
    registry.add_wheel("answer", more=data)
    yard.commit({"requirements.txt": "answer==1.0\n"})
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    repository = GitRepository.open(yard.repo)
    grant = SandboxGrant(ceiling=Tier.REGISTRIES, registries=RegistryGrant(private=(registry.place,)))
    commit = CommitId(repository.read_head_commit())
    entries, store = ["requirements.txt"], yard.state / "deps"
    with ExitStack() as stack:
        grant = await install_dependencies(grant, entries, repository, yard.state, store, commit, tell, stack)
        async with open_local_hands(repository, yard.state, grant, home=yard.home) as hands:
            workspace = await hands.open_workspace(commit, Purpose("test"))
            ran = await shell_in(workspace, f"cat .venv/pyvenv.cfg {private}/today.txt")
    assert ran.output.startswith(f"home = {private}\n")
    assert SECRET not in ran.output
