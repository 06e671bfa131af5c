"""A repository with a home and a state directory of its own, and commands in its workspaces."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.policy import BackendChoice, SandboxGrant
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandResult, ShellCommand
from worktrees.repositories.repository import GitRepository


@dataclass(frozen=True)
class Yard:
    """The user's checkout, home directory and our state directory; the repository has one commit."""

    repo: Path
    home: Path
    state: Path
    backend: BackendChoice = BackendChoice.BUBBLEWRAP

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.repo), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str], message: str = "More") -> str:
        for name, text in files.items():
            file = self.repo / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    @asynccontextmanager
    async def hands(self, grant: SandboxGrant | None = None, **options: Any) -> AsyncIterator[LocalHands]:
        options = {"home": self.home, "environ": {}} | options
        grant = (grant or SandboxGrant()).model_copy(update={"backend": self.backend})
        async with open_local_hands(GitRepository.open(self.repo), self.state, grant, **options) as opened:
            if opened.refusal_reason and self.backend == BackendChoice.CONTAINER:
                pytest.skip(f"no container runs here: {opened.refusal_reason}")
            yield opened


@dataclass(frozen=True)
class Ran:
    """A command's result with its output as text."""

    result: CommandResult
    output: str

    @property
    def exit_code(self) -> int | None:
        return self.result.exit_code


class Shell(Protocol):
    async def __call__(self, line: str, **options: Any) -> Ran: ...


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What every backend has to hold to is tried on each; `make test` tries the attacks alone on containers."""
    if metafunc.definition.get_closest_marker("conformance"):
        is_attack = metafunc.definition.get_closest_marker("attack") is not None
        marks = pytest.mark.slow if is_attack else pytest.mark.extended
        container = pytest.param(BackendChoice.CONTAINER, id="container", marks=marks)
        metafunc.parametrize(
            "backend", [pytest.param(BackendChoice.BUBBLEWRAP, id="bubblewrap"), container], indirect=True
        )


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> BackendChoice:
    return getattr(request, "param", BackendChoice.BUBBLEWRAP)


@pytest.fixture
def yard(tmp_path: Path, backend: BackendChoice) -> Yard:
    repo, home, state = tmp_path / "src" / "project", tmp_path / "home", tmp_path / "state"
    for folder in (repo, home, state):
        folder.mkdir(parents=True)
    made = Yard(repo, home, state, backend)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit(
        {"README.md": "hello\n", ".gitignore": ".venv\nnode_modules\n*.so\n*.log\n", "pkg/__init__.py": ""}, "Start"
    )
    return made


@pytest.fixture
async def hands(yard: Yard) -> AsyncIterator[LocalHands]:
    async with yard.hands() as opened:
        assert opened.refusal_reason is None
        yield opened


@pytest.fixture
async def workspace(hands: LocalHands, yard: Yard) -> AsyncIterator[LocalWorkspace]:
    opened = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
    yield opened
    await opened.close()


async def ran(workspace: LocalWorkspace, line: str, **options: Any) -> Ran:
    result = await run_command(workspace, ShellCommand(line=line, **({"timeout_s": 60.0} | options)))
    return Ran(result, result.log.read_text(encoding="utf-8", errors="replace"))


@pytest.fixture
def shell(workspace: LocalWorkspace) -> Shell:
    """Runs a command in the sandbox of a fresh workspace."""

    async def run(line: str, **options: Any) -> Ran:
        return await ran(workspace, line, **options)

    return run


@pytest.fixture
def shell_in() -> Callable[..., Any]:
    """Runs a command in the sandbox of a given workspace."""
    return ran


@pytest.fixture
def outside(yard: Yard) -> Callable[..., str]:
    """Runs the same command line without a sandbox: the positive control of an attack."""

    def run(line: str, **options: Any) -> str:
        options = {"cwd": yard.repo, "timeout": 90, "check": False, "stdin": subprocess.DEVNULL} | options
        done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, **options)  # noqa: PLW1510
        return (done.stdout + done.stderr).decode(errors="replace")

    return run


@pytest.fixture
def living(request: pytest.FixtureRequest) -> Iterator[Callable[[str], list[int]]]:
    """The processes of this host that have a text among their arguments; what the test itself left is ended."""
    asked: list[str] = []

    def find(text: str) -> list[int]:
        asked.append(text)
        return _processes(text)

    yield find
    mark = f"PYTEST_CURRENT_TEST={request.node.nodeid} ".encode()
    for pid in {pid for text in asked for pid in _processes(text)}:
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(pid, 9)


def _processes(text: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(text in word for word in words) and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found
