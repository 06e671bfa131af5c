"""Honest changes of many kinds: each is a folder in tests/scenarios/honest, and every one of them has to land.

`base` is the project, `NAME/change` what a worker writes over it, `NAME/expected.json` what it removes, what the plan
grants, and what is to be flagged all the same. All are tasks of one run, as a fleet would do them, so no two of them
change the same file. Where one does not land, a rule is wrong, not the change.
"""

import hashlib
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from tests.running.changes import files_of, plays, project_of
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.representatives import chosen_parameters
from tests.running.scripts import judges, planner_is_done, plans, reviews

pytestmark = [
    *(pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)),
]

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "honest"


@dataclass(frozen=True)
class Case:
    """One folder."""

    name: str
    expected: dict[str, Any]

    @property
    def task(self) -> TaskId:
        """As a key in a plan."""
        return TaskId(self.name.replace("_", "-"))

    @property
    def change(self) -> Path:
        """What is laid over the base."""
        return SCENARIOS / self.name / "change"


CASES = [
    Case(file.parent.name, json.loads(file.read_text(encoding="utf-8")))
    for file in sorted(SCENARIOS.glob("*/expected.json"))
]
FLAGS: dict[str, Any] = {
    "gate": {"command": f"{sys.executable} -m pytest -q -p no:cacheprovider", "report": "auto"},
    "run": {"max_attempts": 1, "max_workers": 2},
    "plan": {"max_children": 100},
    "hands": {"read_only": [sys.prefix]},
}


def by_name(case: Case) -> str:
    return case.name


@dataclass(frozen=True)
class Together:
    """The run of all of them."""

    project: Path
    ended: RunExit


@pytest.fixture(scope="module")
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Together:
    """One run in which workers make all the changes that were selected."""
    chosen = chosen_parameters(request, test_an_honest_change_lands_as_it_was_made.__name__, "case") or CASES
    place = tmp_path_factory.mktemp("honest")
    project = project_of(SCENARIOS / "base", place / "repo")
    plan = plans("root", *({"key": case.task, "grants": case.expected["grants"]} for case in chosen))
    work = [item for case in chosen for item in plays(case.task, case.change, case.expected["deletes"])]
    votes = [vote for case in chosen for vote in [reviews(case.task)] * (1 + bool(case.expected["flags"]))]

    async def run() -> RunExit:
        return await Bench(place, project).run(plan, *work, *votes, *planner_is_done(), judges(), **FLAGS)

    return Together(project, anyio.run(run))


def test_there_are_forty_of_them_and_no_two_change_the_same_file() -> None:
    assert len(CASES) >= 40
    paths = Counter(path for case in CASES for path in (*files_of(case.change), *case.expected["deletes"]))
    assert [path for path, count in paths.items() if count > 1] == []


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_an_honest_change_lands_as_it_was_made(together: Together, case: Case) -> None:
    task = together.ended.state.tasks[case.task]
    assert task.status == TaskStatus.MERGED, (task.reason, task.verdicts)
    landed = _blobs(together.project, str(together.ended.state.head))
    assert {path: landed.get(path) for path in files_of(case.change)} == {
        path: _blob(case.change / path) for path in files_of(case.change)
    }
    assert not landed.keys() & set(case.expected["deletes"])
    flags = "\n".join(task.verdicts[-1].verdict.flags)
    assert [words for words in case.expected["flags"] if words not in flags] == [], flags


def test_the_run_is_done_and_what_was_red_is_mended(together: Together) -> None:
    ended = together.ended
    assert ended.exit_code == 0
    assert len(ended.state.landed_units) == len(CASES)
    assert {test for trial in ended.state.trials for test in trial.difference.fixed} == {
        "tests.test_prices::test_average"
    }


def _blobs(project: Path, commit: str) -> dict[str, tuple[str, str]]:
    """Path → mode and object of every file of a commit."""
    lines = git(project, "-c", "core.quotePath=false", "ls-tree", "-r", commit).splitlines()
    entries = (line.split("\t") for line in lines)
    return {path: (head.split()[0], head.split()[2]) for head, path in entries}


def _blob(file: Path) -> tuple[str, str]:
    """What git would keep of a file."""
    content = str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
    mode = "120000" if file.is_symlink() else "100755" if file.stat().st_mode & 0o100 else "100644"
    return mode, hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()
