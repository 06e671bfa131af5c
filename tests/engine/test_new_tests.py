"""New tests have to fail without the change that brings them; the plan may grant that they do not."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import NEW_TESTS_CHECK
from orchestrator.domain.judging.verdict import RuleId, Verdict
from orchestrator.domain.run.task import TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.goals import Bench, status
from tests.running.projects import GATE_FLAGS, repository
from tests.running.scripts import judges, planner_is_done, plans, reviews, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

CALC = "def double(number):\n    return number * 2\n"


def function(name: str) -> str:
    return f"\n\ndef {name}(number):\n    return number * 3\n"


def asserting(name: str, *asserted: str) -> str:
    """A test file: one test for each expression."""
    tests = [f"\n    def test_{number}(self):\n        self.assertTrue({one})\n" for number, one in enumerate(asserted)]
    return f"import unittest\n\nimport calc\n\n\nclass {name.title()}(unittest.TestCase):{''.join(tests)}"


HINTED = '"""Sums."""\n\n\ndef double(number: int) -> int:\n    """Twice."""\n    return number + number\n'
CHANGES = {
    "coverage": {"test_coverage.py": asserting("coverage", "calc.double(2) == 4")},
    "rearranged": {
        "calc.py": CALC.replace("number * 2", "number + number"),
        "test_rearranged.py": asserting("rearranged", "calc.double(3) == 6"),
    },
    "hinted": {"calc.py": HINTED, "README.md": "Sums.\n", "test_hinted.py": asserting("hinted", "calc.double(4) == 8")},
    "shown": {
        "calc.py": HINTED + function("triple"),
        "test_shown.py": asserting("shown", "calc.triple(1) == 3", "calc.double(5) == 10"),
    },
    "mostly": {
        "calc.py": HINTED + function("triple") + function("thrice"),
        "test_mostly.py": asserting("mostly", "calc.thrice(1) == 3", "calc.triple(2) == 6", "calc.double(6) == 12"),
    },
    "idle": {
        "calc.py": HINTED + function("triple") + function("thrice") + function("treble"),
        "test_idle.py": asserting("idle", "calc.thrice(2) == 6", "True"),
    },
}
"""Files that tasks write, each on top of the ones before."""
IDLE = "test_idle.Idle.test_0, test_idle.Idle.test_1"


def bench(place: Path) -> Bench:
    return Bench(
        place, repository(place / "repo", {"calc.py": CALC, "test_calc.py": asserting("calc", "calc.double(1) == 2")})
    )


def does(name: str, *, is_reviewed: bool = True) -> list[ScriptedReply]:
    made = [writes(name, path, text) for path, text in CHANGES[name].items()]
    return [*made, worker_ends(name), *([reviews(name)] if is_reviewed else [])]


def settings(**gate: Any) -> dict[str, Any]:
    return {"gate": GATE_FLAGS | gate, "run": {"max_attempts": 1, "max_workers": 1, "max_iterations": 1}}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> RunExit:
    """One run in which the tasks follow one another; the new test of the one that rearranges code is granted."""
    drafts = [
        {"key": name, "depends_on": [before] if before else [], "grants": ["test_rearranged.py"]}
        for before, name in pairwise(["", *CHANGES])
    ]
    items = [item for name in CHANGES for item in does(name, is_reviewed=name != "idle")]

    async def run() -> RunExit:
        plan = plans("root", *drafts)
        return await bench(tmp_path_factory.mktemp("new")).run(plan, *items, *planner_is_done(), judges(), **settings())

    return anyio.run(run)


def verdict(ended: RunExit, name: str) -> Verdict:
    return ended.state.tasks[TaskId(name)].verdicts[-1].verdict


def flags_on_change(ended: RunExit, name: str) -> list[str]:
    """Return the flags, without the one that such a gate is not guarded."""
    return [finding.text for finding in verdict(ended, name).findings if finding.rule != RuleId.UNGUARDED]


def runs_without_the_change(ended: RunExit, name: str) -> int:
    return [ended.state.receipts[key].kind for key in verdict(ended, name).receipts].count(NEW_TESTS_CHECK)


def test_a_change_whose_new_tests_all_pass_without_it_is_red_and_the_reason_names_them(together: RunExit) -> None:
    told = verdict(together, "idle")
    assert status(together, "idle") == TaskStatus.REJECTED
    assert told.reasons[0].startswith(
        f"every new test passes without the change, too, so none shows anything of it (2): {IDLE}"
    )
    assert runs_without_the_change(together, "idle") == 1


@pytest.mark.parametrize("name", ["coverage", "rearranged", "hinted"])
def test_tests_alone_granted_ones_and_those_beside_hints_and_prose_need_not_fail_before(
    together: RunExit, name: str
) -> None:
    assert (status(together, name), flags_on_change(together, name)) == (TaskStatus.MERGED, [])
    assert runs_without_the_change(together, name) == 0


def test_one_new_test_in_two_that_fails_without_the_change_shows_it(together: RunExit) -> None:
    assert (status(together, "shown"), flags_on_change(together, "shown")) == (TaskStatus.MERGED, [])
    assert runs_without_the_change(together, "shown") == 1


def test_when_most_new_tests_pass_without_the_change_that_is_flagged(together: RunExit) -> None:
    assert status(together, "mostly") == TaskStatus.MERGED
    assert flags_on_change(together, "mostly") == [
        "of 3 new tests these 2 pass without the change, too: test_mostly.Mostly.test_1, test_mostly.Mostly.test_2"
    ]


async def test_red_can_be_lowered_to_a_flag(tmp_path: Path) -> None:
    change = [
        writes("idle", "calc.py", CALC + function("treble")),
        writes("idle", "test_idle.py", asserting("idle", "True")),
    ]
    items = [*change, worker_ends("idle"), reviews("idle"), *planner_is_done(), judges()]
    ended = await bench(tmp_path).run(plans("root", {"key": "idle"}), *items, **settings(new_tests="flag"))
    assert status(ended, "idle") == TaskStatus.MERGED
    assert any("every new test passes without the change" in flag for flag in verdict(ended, "idle").flags)


async def test_a_red_test_of_the_base_that_the_change_mends_shows_it(tmp_path: Path) -> None:
    files = {"calc.py": CALC.replace("2", "3"), "test_calc.py": asserting("calc", "calc.double(1) == 2")}
    change = [writes("mend", "calc.py", CALC), writes("mend", "test_mend.py", asserting("mend", "calc.double(0) == 0"))]
    items = [*change, worker_ends("mend"), reviews("mend"), *planner_is_done(), judges()]
    place = Bench(tmp_path, repository(tmp_path / "repo", files))
    ended = await place.run(plans("root", {"key": "mend"}), *items, **settings())
    assert status(ended, "mend") == TaskStatus.MERGED
    assert "every new test passes without the change" in verdict(ended, "mend").flags[0]
