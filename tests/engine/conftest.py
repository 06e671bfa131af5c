"""A small project to run on."""

from pathlib import Path

import pytest

from tests.running.goals import Bench
from tests.running.projects import calculator


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))
