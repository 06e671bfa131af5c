"""Workspaces of every kind of hands. They are used by the port alone, so that nothing shows where they lie."""

import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any, Protocol

import pytest

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.hands import Hands, Workspace
from tests.conformance.kinds import KINDS, HandsKind, HandsOptions, OpenedHands
from tests.unit.hands.conftest import Ran, Yard, living, outside, ran

__all__ = ["living", "outside"]

FILES = {
    "README.md": "hello\n",
    ".gitignore": "*.log\nbuild\n",
    "pkg/__init__.py": "",
    "pkg/money.py": "ONE = 1\n",
    "tests/test_x.py": "assert True\n",
    "tests/data/golden.json": "{}\n",
}


class OpenHands(Protocol):
    def __call__(self, **options: Any) -> AbstractAsyncContextManager[OpenedHands]: ...


class RunIn(Protocol):
    async def __call__(self, line: str, **options: Any) -> Ran: ...


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try everything on all kinds; what asks for `hosts` or for `host_processes` on those that have some."""
    if "kind" not in metafunc.fixturenames:
        return
    chosen = []
    for name, kind in KINDS.items():
        is_fit = kind.has_processes or "host_processes" not in metafunc.fixturenames
        if is_fit and (kind.has_hosts or "hosts" not in metafunc.fixturenames):
            chosen.append(pytest.param(kind, id=name, marks=kind.marks))
    metafunc.parametrize("kind", chosen, indirect=True, scope="module")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> HandsKind:
    found: HandsKind = request.param
    return found


@pytest.fixture(scope="module")
def yard(kind: HandsKind, tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """The user's checkout with one commit, a home and a place for what hands keep; one for each kind."""
    place = tmp_path_factory.mktemp("yard")
    made = Yard(place / "src" / "project", place / "home", place / "state")
    for folder in (made.repo, made.home, made.state):
        folder.mkdir(parents=True)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit(FILES, "Start")
    return made


@pytest.fixture(scope="module")
def head(yard: Yard) -> CommitId:
    """The commit that workspaces are opened at, if a test says nothing else."""
    return CommitId(yard.git("rev-parse", "HEAD"))


@pytest.fixture(scope="module")
def open_hands(kind: HandsKind, yard: Yard) -> OpenHands:
    """Opens hands of the kind with a state of their own; the options are those of `HandsOptions`."""
    numbers = count()

    @asynccontextmanager
    async def open_them(**options: Any) -> AsyncIterator[OpenedHands]:
        state = yard.state / f"opened-{next(numbers)}"
        state.mkdir()
        async with kind.open_hands(replace(yard, state=state), HandsOptions(**options)) as opened:
            yield opened

    return open_them


@pytest.fixture(scope="module")
async def hands(open_hands: OpenHands) -> AsyncIterator[Hands]:
    """Hands that all tests of a module share."""
    async with open_hands(slots=2) as opened:
        assert opened.hands.refusal_reason is None
        yield opened.hands


@pytest.fixture
async def workspace(hands: Hands, head: CommitId) -> AsyncIterator[Workspace]:
    opened = await hands.open_workspace(head, Purpose("test"))
    yield opened
    await opened.close()


@pytest.fixture
def run(workspace: Workspace) -> RunIn:
    """Runs a command in the workspace to its end."""

    async def run_it(line: str, **options: Any) -> Ran:
        return await ran(workspace, line, **options)  # type: ignore[arg-type]  # it needs nothing but the port

    return run_it


@pytest.fixture
def run_in() -> Callable[..., Any]:
    """Runs a command in a given workspace to its end."""
    return ran


@pytest.fixture
def nap() -> str:
    """Seconds to sleep that nobody else sleeps on this machine: by them its processes are found."""
    return f"98765.{secrets.randbelow(10**9):09}"


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch, yard: Yard) -> str:
    """A secret of this machine's: in the environment of the engine, and in a file of the user's."""
    secret = f"canary-{secrets.token_hex(8)}"
    monkeypatch.setitem(os.environ, "CONFORMANCE_TOKEN", secret)
    (yard.home / ".token").write_text(secret)
    return secret
