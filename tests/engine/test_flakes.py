"""Tests that depend on what is not in the tree: a candidate is tested again, and what is seen is told to everybody."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import CheckFinished
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.engine.pull_request.description import format_goal_body
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.run.model import FlakyTest
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from tests.running.goals import Bench, one, status
from tests.running.projects import GATE_FLAGS, git
from tests.running.scripts import planner_ends, plans, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

SKY = """import pathlib
import unittest

SKY = pathlib.Path({sky!r}).read_text()


class SkyTest(unittest.TestCase):
    def test_no_rain(self):
        self.assertNotIn("rain", SKY)

    def test_no_snow(self):
        self.assertNotIn("snow", SKY)
"""


class Weather:
    """What the tests of a run look at outside the tree; it changes after each test run, the baseline's first."""

    def __init__(self, bench: Bench, *days: str) -> None:
        self._sky = bench.root / "weather" / "sky"
        self._days = list(days)
        self._sky.parent.mkdir()
        self._sky.write_text("fair")
        (bench.repository / "test_sky.py").write_text(SKY.format(sky=str(self._sky)))
        git(bench.repository, "add", "-A")
        git(bench.repository, "commit", "-q", "-m", "sky")
        self.flags: dict[str, Any] = {"hands": {"read_only": [str(self._sky.parent)]}}

    def on_run_opened(self, state: object) -> None:
        """Nothing changes when the run is opened."""

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Change after a test run."""
        if isinstance(recorded.event, CheckFinished) and self._days:
            self._sky.write_text(self._days.pop(0))


def exits(ended: RunExit) -> list[int | None]:
    """How each test run of the gate ended, in their order."""
    return [receipt.exit_code for receipt in ended.state.receipts.values()]


def told_to_reviewers(bench: Bench) -> str:
    (journal,) = bench.root.glob("state/*/runs/*/journal.db")
    events = [recorded.event for recorded in read_all_events(journal)]
    return "".join(one.brief.head for one in events if isinstance(one, SessionStarted) and one.role == "judge")


async def test_a_candidate_that_is_red_by_chance_lands_and_everybody_is_told_of_the_flaky_test(bench: Bench) -> None:
    weather = Weather(bench, "rain", "fair")
    ended = await bench.run(*one("a"), when=weather, **weather.flags)
    state = ended.state
    assert (ended.exit_code, exits(ended)) == (0, [0, 1, 0]), "neither queue nor iteration runs it again"
    assert len({(receipt.check, receipt.tree) for receipt in state.receipts.values() if receipt.exit_code == 0}) == 2
    given = state.tasks[TaskId("a")].verdicts[-1].verdict
    told = "seen both ways on this tree: test_sky.SkyTest.test_no_rain; it may be this change that makes them so"
    assert (given.kind, given.flags) == ("merge", (told,))
    assert told in told_to_reviewers(bench)
    assert build_run_result(state, Path("journal")).flaky == (FlakyTest(test="test_sky.SkyTest.test_no_rain", seen=1),)
    said = "\n".join(render_summary_lines(state))
    assert "flaky tests, which passed and failed on one tree (1): test_sky.SkyTest.test_no_rain (1 ×)" in said
    assert "- `test_sky.SkyTest.test_no_rain`: on 1 tree" in format_goal_body(state, "done")


async def test_a_candidate_of_which_nobody_can_say_whether_it_is_red_is_a_persons_matter(bench: Bench) -> None:
    weather = Weather(bench, "rain", "snow", "fair")
    work = [writes("a", "a.txt", "a\n"), worker_ends("a")]
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), when=weather, **weather.flags)
    assert (status(ended, "a"), exits(ended)) == (TaskStatus.BLOCKED, [0, 1, 1])
    given = ended.state.tasks[TaskId("a")].verdicts[-1].verdict
    assert (given.kind, given.cause) == ("escalate", "unsettled-tests")
    assert "no run was green as a whole (1): test_sky.SkyTest.test_no_snow" in given.reasons[0]
    assert not ended.state.landings


async def test_with_reruns_off_the_first_red_run_decides(bench: Bench) -> None:
    weather = Weather(bench, "rain", "fair")
    work = [writes("a", "a.txt", "a\n"), worker_ends("a")]
    flags = weather.flags | {"gate": GATE_FLAGS | {"reruns": 0}, "run": {"max_attempts": 1}}
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), when=weather, **flags)
    assert (status(ended, "a"), exits(ended)) == (TaskStatus.REJECTED, [0, 1])
    assert ended.state.list_flaky_tests() == []
