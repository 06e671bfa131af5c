"""Dependencies are installed once, by the harness, and every workspace has them without any network."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO

import anyio
import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.policy import RegistryGrant, SandboxGrant
from orchestrator.provisioning.dependencies import install_dependencies
from tests.running.index import Loopback, loopback
from tests.unit.hands.conftest import Yard, ran
from tests.unit.hands.conftest import backend as backend
from tests.unit.hands.conftest import yard as yard
from worktrees.repositories.repository import GitRepository

pytestmark = [pytest.mark.sandbox]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """The index and registry of a user who has configured both, and nothing else."""
    with loopback() as served:
        served.add_wheel("answer")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.setenv(name, "")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", served.index)
        monkeypatch.setenv("NPM_CONFIG_USERCONFIG", os.devnull)
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://{served.place}/npm/")
        yield served


@dataclass
class Project:
    """A repository whose dependencies are to be installed; `told` are the notices."""

    yard: Yard
    registry: Loopback
    told: list[str] = field(default_factory=list)

    async def granted(self, stack: ExitStack, *entries: str, ceiling: Tier = Tier.REGISTRIES) -> SandboxGrant:
        async def tell(text: str) -> None:
            self.told.append(text)

        repository, state = GitRepository.open(self.yard.repo), self.yard.state
        grant = SandboxGrant(ceiling=ceiling, registries=RegistryGrant(private=(self.registry.place,)))
        commit = CommitId(repository.read_head_commit())
        return await install_dependencies(grant, entries, repository, state, state / "deps", commit, tell, stack)

    @asynccontextmanager
    async def opened(self, *entries: str) -> AsyncIterator[LocalHands]:
        with ExitStack() as stack:
            grant = await self.granted(stack, *entries)
            async with open_local_hands(GitRepository.open(self.yard.repo), self.yard.state, grant) as hands:
                yield hands

    async def ran(self, hands: LocalHands, line: str) -> str:
        workspace = await hands.open_workspace(self.yard.git("rev-parse", "HEAD"), Purpose("test"))
        try:
            return (await ran(workspace, line)).output
        finally:
            await workspace.close()

    @property
    def store(self) -> DepsStore:
        return DepsStore(self.yard.state / "deps")


@pytest.fixture
def project(yard: Yard, registry: Loopback) -> Project:
    yard.commit({"requirements.txt": "answer==1.0\n"})
    return Project(yard, registry)


ANSWER = "python -c 'import answer; print(answer.__file__, answer.ANSWER)'"


@pytest.mark.slow
async def test_wheels_are_installed_once_and_lent_to_workspaces_without_network(project: Project) -> None:
    own = project.yard.repo / ".venv" / "own"
    own.parent.mkdir()
    own.touch()
    async with project.opened("requirements.txt") as hands:
        environment = hands.environment_hash
        told = await project.ran(hands, f"ls .venv/own; touch .venv/x; rm -r .venv/lib; {ANSWER}; git status --short")
        assert "cannot access '.venv/own'" in told
        assert "Read-only file system" in told
        assert f"{project.yard.repo}/.venv/lib/" in told.splitlines()[-1]
        assert told.endswith("answer.py 42\n")
    assert [text.partition(" as ")[0] for text in project.told] == [
        "deps: installing what requirements.txt names, for all workspaces",
        "deps: installed",
        "deps: .venv of your checkout is not used; what deps installed stands in its place",
    ]
    asked = len(project.registry.asked)
    async with project.opened("requirements.txt") as hands:
        assert hands.environment_hash == environment
        assert "42" in await project.ran(hands, ANSWER)
    assert [path for path in project.registry.asked[asked:] if "answer" in path] == []
    async with project.opened() as hands:
        assert hands.environment_hash != environment
        assert await project.ran(hands, "ls .venv") == "own\n"


@pytest.mark.slow
async def test_a_package_without_a_wheel_is_named_and_nothing_is_kept(project: Project) -> None:
    project.registry.add_source("hooked", b"not even looked into")
    project.yard.commit({"requirements.txt": "hooked==1.0\n"})
    with ExitStack() as stack, pytest.raises(EnvironmentProblem) as problem:
        await project.granted(stack, "requirements.txt")
    assert "There is no wheel of hooked==1.0" in str(problem.value)
    assert problem.value.exit_code == 7
    assert not any(project.store.has_entry(key) for key in project.store.keys)
    assert not [path for path in project.registry.asked if "hooked-1.0.tar.gz" in path]


@pytest.mark.slow
async def test_an_index_that_the_repository_names_is_not_reached(project: Project) -> None:
    with loopback() as other:
        other.add_wheel("answer", source="ANSWER = 'evil'\n")
        project.yard.commit({"requirements.txt": f"--index-url {other.index}\nanswer==1.0\n"})
        with ExitStack() as stack, pytest.raises(EnvironmentProblem) as problem:
            await project.granted(stack, "requirements.txt")
        assert other.asked == []
        assert f"The network refused localhost:{other.port}" in str(problem.value)


async def test_without_any_registry_the_reason_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = project.yard.repo.parent / "only-git"
    programs.mkdir()
    (programs / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PATH", str(programs))
    with ExitStack() as stack, pytest.raises(EnvironmentProblem, match="would reach nothing here"):
        await project.granted(stack, "requirements.txt")


async def test_where_nobody_may_have_tier_2_nothing_is_installed(project: Project) -> None:
    with ExitStack() as stack, pytest.raises(UsageProblem, match="set ask_tier under"):
        await project.granted(stack, "requirements.txt", ceiling=Tier.COMMANDS)
    assert project.registry.asked == []


def npm_archive(**files: object) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            entry = tarfile.TarInfo(f"package/{name.replace('_', '.')}")
            entry.size = len(text)
            archive.addfile(entry, BytesIO(text.encode()))
    return packed.getvalue()


@pytest.mark.slow
@pytest.mark.attack(35)
async def test_35_npm_packages_are_installed_without_their_scripts(project: Project) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed (make setup installs it)")
    script = "echo ran > ../../marker; echo ran > marker"
    package = {"name": "answer", "version": "1.0.0", "main": "index.js", "scripts": {"postinstall": script}}
    project.registry.pages["/npm/answer.tgz"] = npm_archive(package_json=package, index_js="module.exports = 42")
    url = f"http://{project.registry.place}/npm/answer.tgz"
    top = {"name": "top", "version": "1.0.0", "dependencies": {"answer": "1.0.0"}}
    locked = {"version": "1.0.0", "resolved": url, "hasInstallScript": True}
    lock = {**top, "lockfileVersion": 3, "packages": {"": top, "node_modules/answer": locked}}
    project.yard.commit({"web/package.json": json.dumps(top), "web/package-lock.json": json.dumps(lock)})
    look = "cd web && node -p 'require(\"answer\")'; find . -name marker"
    async with project.opened("web/package-lock.json") as hands:
        assert await project.ran(hands, look) == "42\n"
    web = project.yard.repo / "web"
    environ = os.environ | {"npm_config_cache": str(project.yard.home)}
    subprocess.run(["npm", "ci"], cwd=web, env=environ, capture_output=True, check=True)  # noqa: ASYNC221
    assert sorted(str(path.relative_to(web)) for path in web.rglob("marker")) == [
        "marker",
        "node_modules/answer/marker",
    ]


KILLED = """
import sys, anyio
from contextlib import ExitStack
from pathlib import Path
from orchestrator.provisioning.dependencies import install_dependencies
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.policy import SandboxGrant, RegistryGrant
from worktrees.repositories.repository import GitRepository

async def tell(text):
    print(text, flush=True)

async def main(repo, state, place):
    repository = GitRepository.open(Path(repo))
    grant = SandboxGrant(ceiling=Tier.REGISTRIES, registries=RegistryGrant(private=(place,)))
    with ExitStack() as stack:
        head = repository.read_head_commit()
        await install_dependencies(
            grant, ["requirements.txt"], repository, Path(state), Path(state, "deps"), head, tell, stack
        )

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.slow
async def test_after_a_kill_it_is_installed_anew_once_however_many_wait(project: Project) -> None:
    words = [sys.executable, "-c", KILLED, str(project.yard.repo), str(project.yard.state), project.registry.place]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        assert b"installing" in await anyio.to_thread.run_sync(process.stdout.readline)
        process.kill()
    assert not any(project.store.has_entry(key) for key in project.store.keys)
    told: list[str] = []

    async def one() -> None:
        async with project.opened("requirements.txt") as hands:
            told.append(await project.ran(hands, ANSWER))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    assert [text.split()[-1] for text in told] == ["42", "42"]
    assert sum("installing" in text for text in project.told) == 1
