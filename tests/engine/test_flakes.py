"""Tests that depend on what is not in the tree: a candidate is tested again, and what is seen is told to everybody."""

import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import CheckFinished
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import NARROW_CHECK, REPEATS_CHECK
from orchestrator.domain.run.task import TaskStatus
from orchestrator.engine.pull_request.description import format_goal_body
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.report.run.model import FlakyTest
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.report.task.details import render_task_details
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
    assert (given.kind, given.flags[0]) == ("merge", told)
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
    assert "its runs do not tell who is to blame (1): test_sky.SkyTest.test_no_snow" in given.reasons[0]
    assert not ended.state.landings


class Rounds:
    """The number of test runs so far, in a file that tests can read."""

    def __init__(self, bench: Bench, code: str) -> None:
        self._count, self._file = 0, bench.root / "rounds" / "count"
        self._file.parent.mkdir()
        self._file.write_text("0")
        (bench.repository / "test_shop.py").write_text(PRICE_TEST)
        (bench.repository / "price.py").write_text(self.format_code(code))
        git(bench.repository, "add", "-A")
        git(bench.repository, "commit", "-q", "-m", "price")
        self.flags: dict[str, Any] = {
            "hands": {"read_only": [sys.prefix, str(self._file.parent)]},
            "gate": GATE_FLAGS | {"reruns": 6},
            "run": {"max_attempts": 1},
        }

    def format_code(self, code: str) -> str:
        """The product with its price, which may depend on `count`."""
        return f"import pathlib\n\ncount = int(pathlib.Path({str(self._file)!r}).read_text())\n\n{code}\n"

    def on_run_opened(self, state: object) -> None:
        """Nothing is counted when the run is opened."""

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Count a test run."""
        if isinstance(recorded.event, CheckFinished):
            self._count += 1
            self._file.write_text(str(self._count))


PRICE_TEST = """import unittest

import price


class PriceTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(price.get_price(), 2)

    def test_beside(self):
        self.assertTrue(price)
"""
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider test_shop.py"
RIGHT = "def get_price():\n    return 2"
MOSTLY_WRONG = """calls = []


def get_price():
    calls.append(1)
    return 2 if count == 1 and len(calls) == 1 else 3"""
"""Right when the tests run for the first time on the change, and wrong in each later run and round."""
SOMETIMES_WRONG = "def get_price():\n    return 3 if count in (1, 5) else 2"


@pytest.mark.extended
async def test_a_change_that_makes_a_test_fail_most_times_is_red_although_its_first_run_is_green(bench: Bench) -> None:
    rounds = Rounds(bench, RIGHT)
    work = [writes("a", "price.py", rounds.format_code(MOSTLY_WRONG)), worker_ends("a")]
    gate = {"command": PYTEST, "report": "auto", "reruns": 6, "canaries": False}
    flags = rounds.flags | {"gate": gate}
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), when=rounds, **flags)
    given = ended.state.tasks[TaskId("a")].verdicts[-1].verdict
    assert (status(ended, "a"), given.cause) == (TaskStatus.REJECTED, "red-tests")
    assert any("test_sum fails in 6 of 7 runs of this tree, never in 7 of the base" in why for why in given.reasons)
    narrow = [receipt for receipt in ended.state.receipts.values() if receipt.kind == NARROW_CHECK]
    assert {receipt.counts.total for receipt in narrow} == {1}, "only the test in doubt is run again"
    repeated = [receipt for receipt in ended.state.receipts.values() if receipt.kind == REPEATS_CHECK]
    assert [receipt.counts.total for receipt in repeated] == [18, 18], "both tests, nine times, here and on the base"
    shown = list(render_task_details(ended.state, ended.state.tasks[TaskId("a")], lambda _: b""))
    assert any("tests in doubt cost 6 further runs of this tree" in line for line in shown)


async def test_an_innocent_change_lands_under_a_test_that_is_as_flaky_as_on_the_base(bench: Bench) -> None:
    rounds = Rounds(bench, SOMETIMES_WRONG)
    ended = await bench.run(*one("a"), when=rounds, **rounds.flags)
    flag, unguarded = ended.state.tasks[TaskId("a")].verdicts[-1].verdict.flags
    assert unguarded.startswith("outcomes of this gate are not guarded")
    assert (ended.exit_code, "fails in 1 of 7 runs of this tree, in 1 of 7 of the base" in flag) == (0, True), flag


async def test_with_reruns_off_the_first_red_run_decides(bench: Bench) -> None:
    weather = Weather(bench, "rain", "fair")
    work = [writes("a", "a.txt", "a\n"), worker_ends("a")]
    flags = weather.flags | {"gate": GATE_FLAGS | {"reruns": 0}, "run": {"max_attempts": 1}}
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), when=weather, **flags)
    assert (status(ended, "a"), exits(ended)) == (TaskStatus.REJECTED, [0, 1])
    assert ended.state.list_flaky_tests() == []
