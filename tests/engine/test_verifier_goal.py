"""A verifier turns the goal into checks of the contract before the first plan, and the run is held to them."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Approve, Reject
from orchestrator.domain.run.contract import Contract
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench
from tests.running.scripts import planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

TEST = (
    "import unittest\n\nfrom half import half\n\n\nclass HalfTest(unittest.TestCase):\n"
    "    def test_seven(self):\n        self.assertEqual(half(7), 3.5)\n"
)
CHECKS = (
    {"text": "half halves", "path": "test_goal_half.py", "test": TEST},
    {"text": "half is there", "command": "test -f half.py"},
    {"text": "it shines", "command": "no-such-program --shine"},
)


def finds(**met: bool) -> ScriptedReply:
    """The verdict of a judge who calls these criteria met, or not."""
    findings = [{"id": name, "met": is_met, "evidence": "the receipt of gate"} for name, is_met in met.items()]
    decision = "done" if all(met.values()) else "continue"
    return uses("judge", "root", "submit_verdict", decision=decision, reasons=["why"], findings=findings)


def script(code: str, met: dict[str, bool]) -> list[ScriptedReply]:
    return [
        *[uses("verifier", "root", "submit_checks", checks=list(CHECKS))] * 3,
        plans("root", {"key": "half"}),
        *(writes("half", "half.py", code), worker_ends("half"), reviews("half")),
        *(planner_ends(), finds(**met)),
    ]


async def run(bench: Bench, code: str, *, resume: bool = False, **more: Any) -> RunExit:
    """A run whose verifier makes three checks of the goal; its judge calls everything met."""
    met = dict.fromkeys(("goal", "gate", "v1", "v2"), True)
    items = script(code, met)
    model = {"model": write_script(bench.root / "script.json", items)}
    verifier = {**model, "when": "off", "goal": "propose"}
    roles = {"planner": model, "worker": model, "judge": model, "verifier": verifier}
    flags = {"roles": roles, "run": {"max_iterations": 1}, **more}
    return await (bench.resume(*items, **flags) if resume else bench.run(*items, **flags))


def contract(ended: RunExit) -> Contract:
    found = ended.state.goal.contract
    assert found is not None
    return found


async def test_checks_become_criteria_and_what_cannot_be_run_is_dropped_with_a_notice(bench: Bench) -> None:
    ended = await run(bench, "def half(n):\n    return n / 2\n")
    added = [(one.id, one.text, one.command) for one in contract(ended).criteria[2:]]
    assert added == [
        ("v1", "half halves", "python3 -m unittest -v test_goal_half.py"),
        ("v2", "half is there", "test -f half.py"),
    ]
    assert next(one.text for one in ended.state.notices if "it shines" in one.text).startswith(
        "checks that the verifier made of the goal and that do not count: it shines: its command was not found"
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (0, "done")


@pytest.mark.slow
async def test_a_goal_whose_check_is_red_is_not_reached_whatever_the_judge_says(bench: Bench) -> None:
    ended = await run(bench, "def half(n):\n    return n // 2\n")
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    findings = {one.id: one.met for one in ended.state.goal.iterations[-1].findings}
    assert findings == {"goal": True, "gate": True, "v1": False, "v2": True}


@pytest.mark.slow
@pytest.mark.parametrize("answer", [Approve(item="q1"), Reject(item="q1", reason="not these")])
async def test_a_person_who_reviews_is_asked_before_the_checks_bind_the_run(
    bench: Bench, answer: Approve | Reject
) -> None:
    waiting = await run(bench, "def half(n):\n    return n / 2\n", approval={"mode": "review"})
    assert (waiting.exit_code, waiting.state.goal.contract) == (6, None)
    send_command(waiting.directory, answer)
    ended = await run(bench, "def half(n):\n    return n / 2\n", resume=True, approval={"mode": "review"})
    is_added = isinstance(answer, Approve)
    assert contract(ended).ids == frozenset({"goal", "gate", *(("v1", "v2") if is_added else ())})
