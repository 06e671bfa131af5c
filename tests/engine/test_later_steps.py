"""The later steps of a goal: its first model is asked before they are loaded, and then all of them are."""

import subprocess
import sys

import pytest

from tests.running.goals import Bench
from tests.running.scripts import planner_ends

_LATER = "orchestrator.engine.goal.later_steps"
_NOT_NEEDED = {
    _LATER,
    "orchestrator.judge.rules.change_facts",
    "orchestrator.queue.parallel_round",
    "orchestrator.migrate.scope.planning",
}
_LOADED = """
import sys
import orchestrator.app.run_creation, orchestrator.cli.run.engine, orchestrator.engine.goal.run
print(" ".join(sys.modules))
"""


def test_a_goal_begins_without_what_judges_lands_or_migrates() -> None:
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "orchestrator.judge.gate.harness" in loaded
    assert _NOT_NEEDED & {*loaded} == set()


@pytest.mark.sandbox
async def test_a_run_that_asks_a_model_loads_them_though_nothing_is_judged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, _LATER, raising=False)
    await bench.run(planner_ends())
    assert _LATER in sys.modules
