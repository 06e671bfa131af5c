"""A small project to run on, and runs that were exported from another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running.goals import Bench
from tests.running.moving import Place, Source, make_place, make_source
from tests.running.projects import calculator
from tests.running.selftests import shared_self_test


@pytest.fixture(autouse=True)
def _one_self_test() -> Iterator[None]:
    """What a run does behind the walls is looked at here; the self-test itself is tried in `tests/unit/hands`."""
    with shared_self_test():
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def place(source: Source, tmp_path: Path) -> Place:
    return make_place(source, tmp_path)
