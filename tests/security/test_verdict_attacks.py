"""Changes that make tests say what is not so: each is a folder in tests/scenarios/verdicts, judged in a real run.

`base` is the project, `NAME/change` what a worker writes over it, `NAME/expected.json` what becomes of that.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.changes import lay_over, plays, project_of
from tests.running.goals import Bench
from tests.running.representatives import chosen_parameters
from tests.running.scripts import judges, planner_is_done, plans, reviews

pytestmark = [
    *(pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)),
    pytest.mark.attack(36),
    pytest.mark.attack(37),
    pytest.mark.attack(38),
    pytest.mark.attack(59),
]

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "verdicts"
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"


@dataclass(frozen=True)
class Case:
    """One folder."""

    name: str
    expected: dict[str, Any]

    @property
    def task(self) -> str:
        """As a key in a plan."""
        return self.name.replace("_", "-")

    @property
    def change(self) -> Path:
        """What is laid over the base."""
        return SCENARIOS / self.name / "change"

    def plan(self) -> dict[str, object]:
        """Its task, which is done when all tests pass."""
        paths = self.expected.get("paths", [])
        return {"key": self.task, "checks": [PYTEST], "grants": self.expected["grants"], "paths": paths}

    def play(self) -> list[ScriptedReply]:
        """A worker that makes the change."""
        return plays(self.task, self.change, self.expected["deletes"])


def cases() -> list[Case]:
    found = sorted(SCENARIOS.glob("*/expected.json"))
    return [Case(file.parent.name, json.loads(file.read_text())) for file in found]


CASES = cases()
HONEST = [case for case in CASES if case.expected["verdict"] == "merge"]
OTHERS = [case for case in CASES if case.expected["verdict"] == "red"]


def by_name(case: Case) -> str:
    return case.name


def bench(place: Path) -> Bench:
    return Bench(place, project_of(SCENARIOS / "base", place / "repo"))


FLAGS: dict[str, Any] = {
    "gate": {"command": PYTEST, "report": "auto"},
    "run": {"max_attempts": 1, "max_workers": 1},
    "plan": {"max_children": 100},
    "hands": {"read_only": [sys.prefix]},
}


def unflagged(ended: RunExit, case: Case) -> list[str]:
    """What the verdict should have flagged and did not."""
    flags = "\n".join(ended.state.tasks[TaskId(case.task)].verdicts[-1].verdict.flags)
    return [words for words in case.expected.get("flags", []) if words not in flags]


@pytest.fixture(scope="module")
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunExit:
    """One run in which a worker tries everything that must not land, as far as it was selected."""
    import anyio

    test = test_what_fools_an_exit_code_is_red_and_the_reason_names_it.__name__
    chosen = chosen_parameters(request, test, "case") or OTHERS
    items = [item for case in chosen for item in case.play()]
    plan = plans("root", *(case.plan() for case in chosen))

    async def run() -> RunExit:
        return await bench(tmp_path_factory.mktemp("verdicts")).run(plan, *items, *planner_is_done(), **FLAGS)

    return anyio.run(run)


@pytest.mark.parametrize("case", OTHERS, ids=by_name)
def test_what_fools_an_exit_code_is_red_and_the_reason_names_it(together: RunExit, case: Case) -> None:
    task = together.state.tasks[TaskId(case.task)]
    assert task.status == TaskStatus.REJECTED
    told = "\n".join(task.verdicts[-1].verdict.reasons)
    missing = [words for words in case.expected["because"] if words not in told]
    assert not missing, told
    assert not unflagged(together, case)


def test_nothing_of_all_that_has_landed(together: RunExit) -> None:
    assert (together.state.landings, together.state.head, together.exit_code) == ([], None, 4)


@pytest.mark.parametrize("case", HONEST, ids=by_name)
async def test_an_honest_change_lands(tmp_path: Path, case: Case) -> None:
    ended = await bench(tmp_path).run(
        plans("root", case.plan()), *case.play(), reviews(case.task), *planner_is_done(), judges(), **FLAGS
    )
    assert ended.exit_code == 0, ended.state.tasks[TaskId(case.task)].verdicts
    assert not unflagged(ended, case)
    landed = ended.state.landings[-1]
    assert landed.tree in {receipt.tree for receipt in ended.state.receipts.values()}


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_control_what_a_plain_exit_code_says_of_the_same_change(tmp_path: Path, case: Case) -> None:
    """Without the judge's rules: twelve of the fourteen attacks of the first sixteen folders would have landed."""
    shutil.copytree(SCENARIOS / "base", tmp_path, dirs_exist_ok=True)
    lay_over(case.change, tmp_path, case.expected["deletes"])
    done = subprocess.run(PYTEST.split(), cwd=tmp_path, capture_output=True, check=False)
    assert min(done.returncode, 1) == case.expected["naive_exit"], done.stdout.decode()
