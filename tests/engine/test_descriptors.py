"""A run of many tasks must not run out of descriptors: none stays open for a task that has ended."""

from pathlib import Path

import pytest

from tests.running.goals import Bench, task
from tests.running.scripts import judges, planner_ends, plans

pytestmark = pytest.mark.sandbox


def count_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_run_leaves_nothing_open(bench: Bench) -> None:
    before = count_descriptors()
    ended = await bench.run(plans("root", {"key": "a"}, {"key": "b"}), *task("a"), *task("b"), planner_ends(), judges())
    assert ended.exit_code == 0
    assert count_descriptors() == before
