"""The gate's own files: what its command names, and the settings that name the command, stay as they are on the base.

The reviewers approve of everything, so nothing but the rule stands in the way.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.scripts import planner_is_done, plans, reviews, worker_ends, writes

pytestmark = [
    *(pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)),
    pytest.mark.attack(59),
]

SETTINGS = """\
[gate]
command = "bash check.sh"
report = "exit-code"

[[contract]]
id = "adds"
text = "adds"
command = "sh ci/adds.sh"
"""
CHECK = """\
set -e
. "$(dirname "$0")/lib.sh"
python3 scripts/lint.py calc.py
verify
"""
FILES = {
    "orchestrate.toml": SETTINGS,
    "check.sh": CHECK,
    "lib.sh": "verify() { python3 -c 'import calc; assert calc.add(1, 2) == 3'; }\n",
    "scripts/lint.py": 'import sys\nsys.exit("lambda" in open(sys.argv[1]).read())\n',
    "scripts/release.sh": "echo release\n",
    "ci/adds.sh": "python3 -c 'import calc; assert calc.add(1, 2) == 3'\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "import calc\n",
    "README.md": "See check.sh.\n",
}
FLAGS: dict[str, Any] = {"gate": {}, "run": {"max_attempts": 1, "max_workers": 1}, "plan": {"grant_requests": 0}}
BROKEN = "def add(a, b):\n    return 0\n"
RED = {
    "settings": ("orchestrate.toml", '[gate]\ncommand = "true"\nreport = "exit-code"\ncanaries = false\n'),
    "named": ("check.sh", "exit 0\n"),
    "sourced": ("lib.sh", "verify() { true; }\n"),
    "called": ("scripts/lint.py", "\n"),
    "criterion": ("ci/adds.sh", "exit 0\n"),
    "other-case": ("Check.sh", "exit 0\n"),
}
"""What a worker writes that may not land, by task."""
HONEST = {
    "product": ("calc.py", "def add(a, b):\n    return b + a\n"),
    "readme": ("README.md", "See check.sh and calc.py.\n"),
    "release": ("scripts/release.sh", "echo release 2\n"),
    "granted": ("check.sh", f"{CHECK}echo checked\n"),
}
GRANTS = {"granted": ["check.sh"]}


def bench(place: Path) -> Bench:
    project = place / "repo"
    for path, text in FILES.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "base")
    return Bench(place, project)


def plan(changes: Mapping[str, tuple[str, str]]) -> ScriptedReply:
    return plans("root", *({"key": task, "grants": GRANTS.get(task, [])} for task in changes))


def work(changes: Mapping[str, tuple[str, str]]) -> list[ScriptedReply]:
    """Workers that write the files, and a reviewer that approves of whatever it is shown."""
    made = [[writes(task, path, text), worker_ends(task), reviews(task)] for task, (path, text) in changes.items()]
    return [item for items in made for item in items]


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> RunExit:
    """One run in which workers try all of it."""

    async def run() -> RunExit:
        place = tmp_path_factory.mktemp("gate")
        return await bench(place).run(plan(RED), *work(RED), *planner_is_done(), **FLAGS)

    return anyio.run(run)


@pytest.mark.parametrize("task", RED)
def test_a_file_of_the_gate_s_own_stays_as_it_is_and_the_reason_names_it(together: RunExit, task: str) -> None:
    state = together.state.tasks[TaskId(task)]
    assert state.status == TaskStatus.REJECTED
    (reason,) = state.verdicts[-1].verdict.reasons
    assert reason.startswith(f"{RED[task][0]} is ")
    assert "which the plan did not grant" in reason


def test_nothing_of_that_has_landed(together: RunExit) -> None:
    assert (together.state.landings, together.state.head, together.exit_code) == ([], None, 4)


@pytest.mark.parametrize("task", ["named", "sourced"])
def test_control_the_gate_itself_says_nothing_against_it(tmp_path: Path, task: str) -> None:
    project = bench(tmp_path).repository
    (project / "calc.py").write_text(BROKEN)
    assert subprocess.run(["bash", "check.sh"], cwd=project, capture_output=True, check=False).returncode != 0
    path, text = RED[task]
    (project / path).write_text(text)
    subprocess.run(["bash", "check.sh"], cwd=project, check=True)


async def test_what_the_gate_does_not_name_and_what_was_granted_lands(tmp_path: Path) -> None:
    ended = await bench(tmp_path).run(plan(HONEST), *work(HONEST), *planner_is_done(), **FLAGS)
    tasks = {task: ended.state.tasks[TaskId(task)] for task in HONEST}
    assert {task: state.status for task, state in tasks.items()} == dict.fromkeys(HONEST, TaskStatus.MERGED)
