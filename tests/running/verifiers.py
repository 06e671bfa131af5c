"""Runs of one task, half(n), with a verifier that is played by a script."""

from collections.abc import Sequence
from typing import Any

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verifier_tests import VerificationState
from orchestrator.domain.run.state import TaskState
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.goals import Bench
from tests.running.projects import GATE_FLAGS
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

HEAD = "import unittest\n\nfrom half import half\n\n\nclass HalfTest(unittest.TestCase):\n"
GOOD = HEAD + "    def test_seven(self):\n        self.assertEqual(half(7), 3.5)\n"
WRONG = HEAD + "    def test_seven(self):\n        self.assertEqual(half(7), 4)\n"
RIGHT_CODE = "def half(n):\n    return n / 2\n"
WRONG_CODE = "def half(n):\n    return n // 2\n"
LEAVING_CODE = "import ctypes\n\nctypes.CDLL(None).quick_exit(0)\n"
TASK = {"key": "half", "outcome": "half(n) in half.py returns n divided by two.", "acceptance": ["half(3) is 1.5"]}


def build_file(text: str, path: str = "test_half_of.py", **more: Any) -> dict[str, Any]:
    """Return a file of tests as a verifier submits it."""
    return {"path": path, "text": text, **more}


def submits(*files: dict[str, Any], scripts: Sequence[dict[str, Any]] = ()) -> ScriptedReply:
    """Return what a verifier submits."""
    return uses("verifier", "half", "submit_tests", files=list(files), scripts=list(scripts), summary="halves")


def attempt(code: str, *before: ScriptedReply) -> list[ScriptedReply]:
    """Return one attempt of the worker."""
    return [*before, writes("half", "half.py", code), worker_ends("half", "SECRET WORDS OF THE WORKER")]


def build_script(*items: ScriptedReply, draft: dict[str, Any] | None = None) -> list[ScriptedReply]:
    """Return the whole script of such a run."""
    return [plans("root", TASK | (draft or {})), *items, reviews("half", points=1), planner_ends(), judges()]


async def run_half(
    bench: Bench,
    *items: ScriptedReply,
    draft: dict[str, Any] | None = None,
    gate: dict[str, str] | None = None,
    budget: dict[str, Any] | None = None,
    **verifier: Any,
) -> RunExit:
    """Run one task, with a verifier for every task unless told otherwise."""
    whole = build_script(*items, draft=draft)
    model = {"model": write_script(bench.root / "script.json", whole)}
    roles = {"planner": model, "worker": model, "judge": model, "verifier": {**model, "when": "always", **verifier}}
    return await bench.run(*whole, roles=roles, run={"max_attempts": 2}, gate=gate or GATE_FLAGS, budget=budget or {})


def task_of(ended: RunExit) -> TaskState:
    """Return the task at the end."""
    return ended.state.tasks[TaskId("half")]


def verification_of(ended: RunExit) -> VerificationState:
    """Return the verification of the task at the end."""
    found = task_of(ended).verification
    assert found is not None
    return found


def kinds_of(ended: RunExit) -> Sequence[str]:
    """Return the kinds of the verdicts, in order."""
    verdicts = task_of(ended).verdicts
    return [verdict.verdict.kind.value for verdict in verdicts]
