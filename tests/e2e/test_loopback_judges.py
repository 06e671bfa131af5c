"""Judges that are no good, asked through the real litellm: nothing red lands, and nonsense lands nothing at all."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.report.run.summary import render_summary_lines
from tests.loopback.builders import reply
from tests.loopback.judges import GARBAGE, approves_everything, talks_garbage
from tests.loopback.play import task_of
from tests.running.goals import Bench
from tests.running.judged import judged_by
from tests.running.projects import calculator
from tests.running.scripts import edits, planner_is_done, plans, uses, worker_ends, writes

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

HONEST = edits("honest", "calc.py", "    return a + b\n", "    return b + a\n")
ALWAYS_EQUAL = "class N(int):\n    __hash__ = int.__hash__\n\n    def __eq__(self, other):\n        return True\n"
RED: Mapping[str, list[ScriptedReply]] = {
    "broken": [edits("broken", "calc.py", "a + b", "a - b")],
    "deleted-test": [uses("worker", "deleted-test", "shell", command="rm test_calc.py")],
    "broken-and-deleted": [
        edits("broken-and-deleted", "calc.py", "a + b", "a - b"),
        uses("worker", "broken-and-deleted", "shell", command="rm test_calc.py"),
    ],
    "weakened-test": [edits("weakened-test", "test_calc.py", "self.assertEqual(add(1, 2), 3)", "pass")],
    "skipped-test": [
        edits("skipped-test", "test_calc.py", "    def test_add", '    @unittest.skip("x")\n    def test_add')
    ],
    "leaves": [edits("leaves", "calc.py", "def add", "import os\n\nos._exit(0)\n\n\ndef add")],
    "always-equal": [
        edits("always-equal", "calc.py", "    return a + b\n", "    return N(a + b)\n\n\n" + ALWAYS_EQUAL),
    ],
    "shadowed-runner": [writes("shadowed-runner", "unittest.py", "print('OK')\n")],
    "starter": [writes("starter", "sitecustomize.py", "import atexit\n")],
    "red-new-test": [
        writes(
            "red-new-test",
            "test_new.py",
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.fail()\n",
        )
    ],
    "own-check": [edits("own-check", "calc.py", "    return a + b\n", "    return b + a\n")],
    "nothing": [],
}
CHECKS = {"own-check": ["test -e proof"]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


async def test_a_judge_that_approves_everything_gets_no_red_candidate_merged(bench: Bench) -> None:
    drafts = [{"key": name, "checks": CHECKS.get(name, [])} for name in RED]
    tried = [item for name, made in RED.items() for item in (*made, worker_ends(name, "all done, all green"))]
    control = {"key": "honest", "acceptance": ["add() adds", "double() doubles"]}
    items = [plans("root", *drafts, control), *tried, *(HONEST, worker_ends("honest")), *planner_is_done()]
    ended, server = await judged_by(bench, approves_everything, items)
    statuses = {name: ended.state.tasks[TaskId(name)].status for name in (*RED, "honest")}
    assert statuses == dict.fromkeys(RED, TaskStatus.REJECTED) | {"honest": TaskStatus.MERGED}
    assert [landing.units for landing in ended.state.landings] == [("honest@1",)]
    reviewed = {task_of(body["messages"]) for body in server.bodies}
    assert reviewed == {"honest", "root"}, "no reviewer is even asked about what is red"
    vote = ended.state.tasks[TaskId("honest")].verdicts[-1].verdict.votes[0]
    assert [finding.id for finding in vote.findings] == ["outcome", "A1", "A2"]


async def test_a_judge_that_talks_garbage_gets_nothing_merged_and_that_is_no_rejection(bench: Bench) -> None:
    made = [
        item
        for name in GARBAGE
        for item in (edits(name, "calc.py", "    return a + b\n", "    return b + a\n"), worker_ends(name))
    ]
    items = [plans("root", *({"key": name} for name in GARBAGE)), *made, *planner_is_done()]
    ended, server = await judged_by(bench, talks_garbage, items)
    tasks = {name: ended.state.tasks[TaskId(name)] for name in GARBAGE}
    assert {name: (task.status, task.cause) for name, task in tasks.items()} == dict.fromkeys(
        GARBAGE, (TaskStatus.BLOCKED, EndCause.UNREADABLE_REVIEW)
    )
    assert (ended.state.landings, ended.state.head, ended.exit_code) == ([], None, 6)
    assert ended.state.ended and ended.state.ended.outcome == "blocked"
    told = "\n".join(render_summary_lines(ended.state))
    for name, task in tasks.items():
        assert f"  ✗ {name}  blocked, unreadable-review: diff: no verdict could be read: " in told
        assert "asked of openai/judge; that is trouble with the reviewer" in task.reason
    assert len(server.bodies) <= 5 * len(GARBAGE), "nonsense is given up soon"


@pytest.mark.parametrize("wire", ["malformed", "empty"])
async def test_a_judge_whose_server_sends_nothing_sensible_pauses_the_run(bench: Bench, wire: str) -> None:
    ended, _ = await judged_by(
        bench,
        lambda body: reply(role="judge", task=task_of(body["messages"]), error="unavailable", wire=wire),
        [plans("root", {"key": "honest"}), HONEST, worker_ends("honest"), *planner_is_done()],
        retry={"tries": 2, "base_s": 0.01, "cap_s": 0.01},
    )
    assert ended.state.ended is None and ended.error is not None
    assert ended.exit_code == ended.error.exit_code == 75
    assert ended.state.tasks[TaskId("honest")].status == TaskStatus.JUDGING
    assert ended.state.landings == []
