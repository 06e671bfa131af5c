"""Small commits from the histories of real projects, replayed as tasks: what people do every day has to land.

Each folder of tests/scenarios/everyday names a project, its licence and commits, and holds none of its code. The
histories are looked for below `EVERYDAY_REPOSITORIES` (one clone each, named for the project), and the tests are run by
`EVERYDAY_PYTHON`, an interpreter that has pytest and what `requires` names. `EVERYDAY_REPORT` names a file that takes a
line of JSON for each change: which landed, and else why not and which grant would help.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import TaskStatus
from tests.running.changes import plays
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.extended, pytest.mark.timeout(900)]

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "everyday"
REPOSITORIES = os.environ.get("EVERYDAY_REPOSITORIES", "")
PYTHON = os.environ.get("EVERYDAY_PYTHON", "")
REPORT = os.environ.get("EVERYDAY_REPORT", "")
TASK = TaskId("change")


@dataclass(frozen=True)
class Change:
    """One commit of a project."""

    project: dict[str, Any]
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """The project and the beginning of the commit's id."""
        return f"{self.project['project']}-{self.values['commit'][:10]}"

    @property
    def history(self) -> Path:
        """The clone that has the commit."""
        return Path(REPOSITORIES, str(self.project["project"]))


def changes() -> list[Change]:
    found = []
    for file in sorted(SCENARIOS.glob("*/project.json")):
        project = json.loads(file.read_text(encoding="utf-8"))
        for path in sorted(file.parent.glob("change_*.json")):
            found.append(Change(project, json.loads(path.read_text(encoding="utf-8"))))
    return found


CHANGES = changes()


def flags(change: Change) -> dict[str, Any]:
    command = change.project["gate"].replace("{python}", PYTHON)
    return {
        "gate": {"command": command, "report": "auto", "timeout_s": 300},
        "run": {"max_attempts": 1, "max_workers": 1, "max_iterations": 1},
        "hands": {"read_only": [str(Path(PYTHON).parent.parent)]},
    }


def check_out_parent(change: Change, project: Path) -> None:
    """Make a repository whose only commit is the tree before the change."""
    commit = change.values["commit"]
    project.mkdir()
    archive = subprocess.run(
        ["git", "-C", str(change.history), "archive", f"{commit}^"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", str(project)], input=archive.stdout, check=True)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A", "-f")
    git(project, "commit", "-q", "-m", "before")


def write_change(change: Change, folder: Path) -> list[str]:
    """Write the files that the commit adds or alters to a folder; return the paths that it removes."""
    commit = change.values["commit"]
    folder.mkdir()
    listing = git(change.history, "diff", "--name-status", "--no-renames", "-z", f"{commit}^", commit)
    parts = [part for part in listing.split("\0") if part]
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    kept = [path for status, path in pairs if status != "D"]
    if kept:
        made = ["git", "-C", str(change.history), "archive", commit, *kept]
        archive = subprocess.run(made, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return [path for status, path in pairs if status == "D"]


def describe(change: Change, ended: RunExit, task: TaskState) -> dict[str, Any]:
    verdict = task.verdicts[-1].verdict if task.verdicts else None
    return {
        "change": change.name,
        "kind": change.values["kind"],
        "title": change.values["title"],
        "landed": task.status == TaskStatus.MERGED,
        "status": task.status.value,
        "cause": str(verdict.cause) if verdict else task.reason,
        "reasons": [reason[:600] for reason in verdict.reasons] if verdict else [task.reason],
        "flags": list(verdict.flags) if verdict else [],
        "receipts": len(ended.state.receipts),
    }


@pytest.mark.skipif(not (REPOSITORIES and PYTHON), reason="EVERYDAY_REPOSITORIES and EVERYDAY_PYTHON are not set")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_small_commit_of_a_real_project_lands(tmp_path: Path, change: Change) -> None:
    check_out_parent(change, tmp_path / "repo")
    removed = write_change(change, tmp_path / "change")
    title = change.values["title"]
    draft = {"key": TASK, "title": title[:80], "outcome": title, "grants": change.values["grants"]}
    items = [plans("root", draft), *plays(TASK, tmp_path / "change", removed), *[reviews(TASK)] * 2]

    async def run() -> RunExit:
        return await Bench(tmp_path, tmp_path / "repo").run(*items, planner_ends(), judges(), **flags(change))

    ended = anyio.run(run)
    task = ended.state.tasks[TASK]
    told = describe(change, ended, task)
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as report:
            report.write(json.dumps(told) + "\n")
    assert told["landed"], told


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_says_where_it_comes_from_and_what_a_plan_grants(change: Change) -> None:
    assert change.project.keys() == {"project", "repository", "licence", "gate", "requires"}
    assert change.values.keys() == {"commit", "title", "kind", "grants"}
    assert change.values["kind"] in {"code+tests", "code", "tests", "other"}
    assert len(change.values["commit"]) == 40
