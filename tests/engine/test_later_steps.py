"""The later steps of a goal: an engine asks its first model before it loads them, and then loads all of them."""

import subprocess
import sys

import pytest

from tests.running.goals import Bench
from tests.running.scripts import planner_ends

_LATER = "orchestrator.engine.goal.later_steps"
_HEAVY = {_LATER, "orchestrator.judge.rules.change_facts", "orchestrator.queue.parallel_round"}
_LOADED = """
import sys
import orchestrator.cli.run.engine, orchestrator.engine.goal.run
print(" ".join(sys.modules))
"""


def test_an_engine_loads_nothing_that_judges_or_lands() -> None:
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "orchestrator.judge.gate.harness" in loaded
    assert _HEAVY & {*loaded} == set()


@pytest.mark.sandbox
async def test_a_run_that_asks_a_model_loads_them_though_nothing_is_judged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, _LATER, raising=False)
    await bench.run(planner_ends())
    assert _LATER in sys.modules
