"""A small project to run on, and runs that were exported from another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.engine.control import command_consumer
from tests.running.goals import Bench
from tests.running.holds import Hold
from tests.running.moving import Place, Source, make_place, make_source
from tests.running.projects import calculator
from tests.running.selftests import shared_self_test
from worktrees.locks import git_lock_files


@pytest.fixture(autouse=True)
def _one_self_test() -> Iterator[None]:
    """What a run does behind the walls is looked at here; the self-test itself is tried in `tests/unit/hands`."""
    with shared_self_test():
        yield


@pytest.fixture(autouse=True)
def _quick_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine looks into its inbox more often: what a command is to meet need not wait as long."""
    monkeypatch.setattr(command_consumer, "_POLL_S", 0.05)


@pytest.fixture
def short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of git are watched for a shorter while before they count as left by the dead."""
    monkeypatch.setattr(git_lock_files, "_GRACE_S", 0.3)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


@pytest.fixture(scope="session")
def _hold_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("holds")


@pytest.fixture
def hold(_hold_folder: Path) -> Hold:
    return Hold(_hold_folder)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def place(source: Source, tmp_path: Path) -> Place:
    return make_place(source, tmp_path)
