"""Small commits from the histories of real projects, replayed as tasks: what people do every day has to land.

Each folder of tests/scenarios/everyday names a project, its licence and commits, and holds none of its code. The
histories are looked for below `EVERYDAY_REPOSITORIES` (one clone each, named for the project), and the tests are run by
`EVERYDAY_PYTHON`, an interpreter that has pytest and what `requires` names. `EVERYDAY_REPORT` names a file that takes a
line of JSON for each change: how it ended, and why it did not land at once.

The `grants` are those of a planner that knows the task and the base, and not the diff. They were chosen by the commit's
message: the tests that the commit touches where it speaks of tests or of another behaviour than they may ask for, with
`remove` where it speaks of what goes or is reorganised; code where it speaks of linters, types or coverage; and the
settings of tests, builds and CI that it touches, which a plan names. A plain bug fix or a new feature has no grant.
Twelve were corrected after a refusal had been seen, where message and base would have told: they show that nothing else
is in the way, and not what a planner thinks of by itself.

A change that is refused with a grant named is tried further: the task's planner, when it is asked, allows what the
refusal names, and what no planner may allow a person grants who has the task tried again. `known_refused.json` has the
changes that do not land with the grants of the plan, each with its outcome and the reason why that is so.
"""

import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.grant import AnyGrant, Grant
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import TaskStatus
from tests.loopback.builders import call, reply
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.extended, pytest.mark.timeout(900)]

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "everyday"
REPOSITORIES = os.environ.get("EVERYDAY_REPOSITORIES", "")
PYTHON = os.environ.get("EVERYDAY_PYTHON", "")
REPORT = os.environ.get("EVERYDAY_REPORT", "")
TASK = TaskId("change")
KNOWN: dict[str, dict[str, str]] = json.loads((SCENARIOS / "known_refused.json").read_text(encoding="utf-8"))


class Outcome(StrEnum):
    """The end of a change."""

    LANDED = "landed"
    LANDED_AFTER_GRANT = "landed after the named grant"
    REFUSED = "refused without help"


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


def flags(change: Change, place: Path) -> dict[str, Any]:
    command = change.project["gate"].replace("{python}", PYTHON)
    return {
        "gate": {"command": command, "report": "auto", "timeout_s": 300},
        "run": {"max_attempts": 1, "max_workers": 1, "max_iterations": 1},
        "hands": {"read_only": [str(Path(PYTHON).parent.parent), str(place / "change")]},
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


@dataclass
class Trial:
    """One run of a change, with what the plan grants."""

    change: Change
    place: Path
    grants: list[AnyGrant]

    def run(self) -> RunExit:
        """Carry the change to its end; the planner allows what it is asked for."""
        check_out_parent(self.change, self.place / "repo")
        removed = write_change(self.change, self.place / "change")
        title = self.change.values["title"]
        grants = [grant if isinstance(grant, str) else grant.model_dump(mode="json") for grant in self.grants]
        plan = plans("root", {"key": TASK, "title": title[:80], "outcome": title, "grants": grants})
        allowed = uses("planner", TASK, "answer_grant", decision="allow", reason="the outcome asks for it")
        lines = [f"rm {shlex.quote(path)}" for path in removed]
        lines.append(f"cp -R --preserve=mode {shlex.quote(str(self.place / 'change'))}/. .")
        written = reply(role="worker", task=TASK, call=[call("shell", command="\n".join(lines))])
        items = [plan, written, worker_ends(TASK), *[allowed] * 2, *[reviews(TASK)] * 2]

        async def run() -> RunExit:
            bench = Bench(self.place, self.place / "repo")
            return await bench.run(*items, planner_ends(), judges(), **flags(self.change, self.place))

        return anyio.run(run)


def replay(change: Change, place: Path) -> tuple[Outcome, list[TaskState]]:
    """Run a change, and once more with what its refusal names; return its outcome and the task of each run."""
    tasks: list[TaskState] = []
    grants: list[AnyGrant] = []
    for grant in change.values["grants"]:
        grants.append(grant if isinstance(grant, str) else Grant.model_validate(grant))
    for name in ("planned", "retried"):
        (place / name).mkdir()
        task = Trial(change, place / name, grants).run().state.tasks[TASK]
        tasks.append(task)
        if task.status == TaskStatus.MERGED:
            has_asked = len(tasks) > 1 or bool(task.grant_decisions)
            return (Outcome.LANDED_AFTER_GRANT if has_asked else Outcome.LANDED), tasks
        named = find_last_verdict(task)
        if named is None or not named.needed_grants:
            break
        for decided in task.grant_decisions:
            grants += decided.grants
        grants += named.needed_grants
    return Outcome.REFUSED, tasks


def find_last_verdict(task: TaskState) -> Verdict | None:
    return task.verdicts[-1].verdict if task.verdicts else None


def describe(change: Change, outcome: Outcome, tasks: list[TaskState]) -> dict[str, Any]:
    told = {"change": change.name, "outcome": outcome.value} | change.values
    runs = []
    for task in tasks:
        verdict = find_last_verdict(task) or Verdict(kind=VerdictKind.REJECT, reasons=(task.reason,))
        entry = verdict.model_dump(mode="json", include={"cause", "flags", "needed_grants"})
        asked = [decided.model_dump(mode="json", include={"grants", "why"}) for decided in task.grant_decisions]
        entry |= {"status": task.status.value, "reasons": [reason[:900] for reason in verdict.reasons], "asked": asked}
        runs.append(entry)
    return told | {"runs": runs}


@pytest.mark.skipif(not (REPOSITORIES and PYTHON), reason="EVERYDAY_REPOSITORIES and EVERYDAY_PYTHON are not set")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_small_commit_of_a_real_project_lands(tmp_path: Path, change: Change) -> None:
    outcome, tasks = replay(change, tmp_path)
    told = describe(change, outcome, tasks)
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as report:
            report.write(json.dumps(told) + "\n")
    known = KNOWN.get(change.name, {"outcome": Outcome.LANDED.value})
    assert outcome == Outcome.LANDED or outcome == known["outcome"], told


def test_at_most_one_change_of_twenty_is_known_to_be_refused_and_each_has_a_reason() -> None:
    assert KNOWN.keys() <= {change.name for change in CHANGES}
    assert len(KNOWN) * 20 <= len(CHANGES)
    for entry in KNOWN.values():
        assert entry["reason"]
        assert Outcome(entry["outcome"]) != Outcome.LANDED


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_says_where_it_comes_from_and_what_a_plan_grants(change: Change) -> None:
    assert change.project.keys() == {"project", "repository", "licence", "gate", "requires"}
    assert change.values.keys() == {"commit", "title", "kind", "grants"}
    assert change.values["kind"] in {"code+tests", "code", "tests", "other"}
    assert len(change.values["commit"]) == 40
