"""A run of many tasks must not run out of descriptors: none stays open for a task that has ended."""

from pathlib import Path

import pytest

from tests.running.goals import Bench, task
from tests.running.scripts import judges, planner_ends, plans

pytestmark = pytest.mark.sandbox
OPEN = Path("/proc/self/fd")


async def test_a_run_leaves_nothing_open(bench: Bench) -> None:
    before = len(list(OPEN.iterdir()))
    ended = await bench.run(plans("root", {"key": "a"}, {"key": "b"}), *task("a"), *task("b"), planner_ends(), judges())
    assert ended.exit_code == 0
    assert len(list(OPEN.iterdir())) == before
