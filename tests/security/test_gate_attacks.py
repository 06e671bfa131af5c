"""What a candidate can do to the run that judges it: leave marks on the host, hang, be exchanged after the verdict."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.event.work import VerdictGiven
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.domain.run.task import TaskStatus
from tests.running.goals import Bench, When, one, reason, status
from tests.running.projects import calculator, git, refs, repository, tree_at
from tests.running.scripts import edits, planner_ends, plans, worker_ends

pytestmark = pytest.mark.sandbox

OLD, NEW = "    return a + b\n", "    return b + a\n"
MARKING = """import pathlib, unittest

for place in ({marks!r}, "/tmp", pathlib.Path.home()):
    try:
        pathlib.Path(place, "orchestrate-test-mark-{name}").write_text("here")
    except OSError:
        pass


class CalcTest(unittest.TestCase):
    def test_nothing(self):
        pass
"""


def marking(tmp_path: Path) -> Path:
    """A project whose tests write a mark wherever they can; the directory `marks` is open to everybody."""
    marks = tmp_path / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    tmp_path.chmod(0o755)
    test = MARKING.format(marks=str(marks), name=tmp_path.name)
    return repository(tmp_path / "repo", {"test_mark.py": test, ".gitignore": "__pycache__/\n"})


def found_marks(tmp_path: Path) -> list[Path]:
    name = f"orchestrate-test-mark-{tmp_path.name}"
    places = (tmp_path / "marks" / name, Path("/tmp") / name, Path.home() / name)
    return [place for place in places if place.exists()]


@pytest.mark.attack(39)
async def test_tests_that_the_judge_runs_leave_no_mark_on_the_host(tmp_path: Path) -> None:
    ended = await Bench(tmp_path, marking(tmp_path)).run(*one("a"))
    assert ended.exit_code == 0
    assert ended.state.test_runs >= 2
    assert found_marks(tmp_path) == []


@pytest.mark.attack(39)
def test_control_the_same_tests_without_the_sandbox_leave_their_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = marking(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run([sys.executable, "-m", "unittest"], cwd=project, capture_output=True, check=True)
    marks = found_marks(tmp_path)
    for mark in marks:
        mark.unlink()
    assert tmp_path / "marks" / f"orchestrate-test-mark-{tmp_path.name}" in marks


@pytest.mark.attack(38)
@pytest.mark.slow
async def test_tests_that_hang_are_tried_once_more_and_then_red_and_never_green(tmp_path: Path) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", OLD, "    while True:\n        pass\n"),
        worker_ends("sum"),
        planner_ends(),
        gate={"command": "python3 -m unittest -v", "report": "unittest", "timeout_s": 4},
        run={"max_attempts": 1},
    )
    hung = [one for one in ended.state.receipts.values() if one.status == ReceiptStatus.TIMED_OUT]
    assert len(hung) == 2
    assert status(ended, "sum") == TaskStatus.REJECTED
    told = ended.state.tasks[TaskId("sum")].verdicts[-1].verdict.reasons
    assert told[0] == "the check `gate` did not end within 4 s, 2 times in a row", reason(ended, "sum")
    assert not ended.state.landings


EVIL = "import os\n\n\ndef add(a, b):\n    return os.getpid()\n"


def evil_commit(project: Path, parent: str) -> str:
    """A commit with code that nobody judged, on top of another commit."""
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=project, input=EVIL, capture_output=True, text=True, check=True
    ).stdout.strip()
    listing = f"100644 blob {blob}\tcalc.py\n"
    tree = subprocess.run(
        ["git", "mktree"], cwd=project, input=listing, capture_output=True, text=True, check=True
    ).stdout.strip()
    return git(project, "commit-tree", tree, "-p", parent, "-m", "evil")


@pytest.mark.attack(41)
async def test_a_candidate_whose_ref_is_moved_after_the_verdict_lands_as_it_was_judged(tmp_path: Path) -> None:
    project = calculator(tmp_path / "repo")
    moved: list[str] = []

    def move(_event: VerdictGiven) -> None:
        (ref,) = [ref for ref in refs(project) if "/tasks/a/" in ref]
        moved.append(evil_commit(project, "HEAD"))
        git(project, "update-ref", ref, moved[0])

    ended = await Bench(tmp_path, project).run(*one("a"), when=When("verdict.given", move))
    assert ended.exit_code == 0
    (landing,) = ended.state.landings
    assert moved[0] in refs(project).values(), "the control: it was really moved"
    assert landing.tree == tree_at(project, ended.state.run.branch)
    assert landing.tree in {receipt.tree for receipt in ended.state.receipts.values()}
    assert "getpid" not in git(project, "show", f"{ended.state.run.branch}:calc.py")


class MovesTheBranch(When):
    """Points the run's branch at code that nobody judged, as soon as something else was found green for it."""

    def __init__(self, project: Path) -> None:
        super().__init__("trial.judged", self._move)
        self.project = project
        self.branch = ""

    def on_run_opened(self, state: Any) -> None:
        self.branch = state.run.branch

    def _move(self, _event: TrialJudged) -> None:
        git(self.project, "update-ref", f"refs/heads/{self.branch}", evil_commit(self.project, "HEAD"))


@pytest.mark.attack(41)
async def test_a_branch_that_is_moved_between_test_and_landing_is_not_overwritten_and_not_built_on(
    tmp_path: Path,
) -> None:
    project = calculator(tmp_path / "repo")
    mover = MovesTheBranch(project)
    ended = await Bench(tmp_path, project).run(*one("a"), when=mover)
    assert ended.exit_code == 6
    assert "which is red" in str(ended.error)
    assert not ended.state.landings
    assert "getpid" in git(project, "show", f"{mover.branch}:calc.py"), "whoever moved it has to take it back"
