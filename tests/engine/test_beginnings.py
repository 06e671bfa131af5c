"""What a run needs before it asks a model: a gate that can judge, and a base; and what doctor says of it."""

from typing import Any

import pytest

from orchestrator.doctor.checks import check_requirements
from orchestrator.domain.commands.definitions import Approve, Reject
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from tests.running.goals import Bench, one, status
from tests.running.projects import GATE_FLAGS, git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends

pytestmark = pytest.mark.sandbox

BASELINE_FIRST = {"beside_baseline": False}
"""No model is asked before the gate has run on the base."""


async def test_without_a_gate_nothing_is_started(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="no gate is configured"):
        await bench.run(plans("root", {"key": "a"}), gate={"command": ""})
    assert not (bench.root / "state").exists()


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"command": "nonsense-command", "report": "auto"}, "was not found in the sandbox"),
        ({"command": "python3 -m no_such_module", "report": "auto"}, "the sandbox has no Python module no_such_module"),
        ({"command": ": > kept; ./kept", "report": "exit-code"}, "cannot be executed in the sandbox"),
        ({"command": "python3 -m unittest -v nothing_here", "report": "unittest"}, "ran no test"),
        ({"command": "sleep 30", "report": "auto", "timeout_s": 0.5}, "did not end within"),
        ({"command": "yes", "report": "auto"}, "printed more than [hands] output_mb allows"),
        (
            {"command": "head -c 300M /dev/zero > /dev/shm/big; sleep 9", "report": "auto"},
            "by a limit under [hands] (It used more than 200 MiB of memory)",
        ),
    ],
)
async def test_a_gate_that_cannot_judge_stops_the_run_before_any_model_is_asked(
    bench: Bench, gate: dict[str, Any], said: str
) -> None:
    hands = {"output_mb": 1, "total_memory_mb": 200}
    ended = await bench.run(plans("root", {"key": "a"}), gate=gate, hands=hands, plan=BASELINE_FIRST)
    assert isinstance(ended.error, EnvironmentProblem)
    assert said in str(ended.error)
    assert (ended.exit_code, ended.state.spend.total.calls) == (7, 0)


async def test_a_red_baseline_is_fine_and_stays_the_measure(bench: Bench) -> None:
    (bench.repository / "test_red.py").write_text(
        "import unittest\n\nclass R(unittest.TestCase):\n    def test_red(self):\n        self.fail()\n"
    )
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "red")
    ended = await bench.run(*one("a"))
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)


SILENT_RED = {"command": "echo two of three; false", "report": "exit-code"}


async def test_a_red_gate_that_names_no_tests_is_asked_about_before_any_model_is(bench: Bench) -> None:
    ended = await bench.run(*one("a"), gate=SILENT_RED, plan=BASELINE_FIRST)
    assert (ended.exit_code, ended.state.spend.total.calls, ended.state.goal.contract) == (6, 0, None)
    (asked,) = ended.state.pending_approvals
    assert asked.approval.title == "work although the gate is red on the base: `echo two of three; false` exits 1"
    assert "it printed: two of three" in asked.approval.detail

    send_command(ended.directory, Approve(item=asked.approval.item))
    assert (await bench.resume(*one("a"), gate=SILENT_RED)).state.spend.total.calls > 0


async def test_a_question_about_a_red_gate_closes_when_the_run_gets_another_gate(bench: Bench) -> None:
    await bench.run(*one("a"), gate=SILENT_RED)
    ended = await bench.resume(*one("a"), gate=GATE_FLAGS)
    assert (ended.exit_code, ended.state.pending_approvals) == (0, [])


async def test_a_run_that_nobody_wants_on_a_red_gate_ends_and_has_cost_nothing(bench: Bench) -> None:
    ended = await bench.run(*one("a"), gate=SILENT_RED, plan=BASELINE_FIRST)
    send_command(ended.directory, Reject(item=ended.state.pending_approvals[0].approval.item, reason="mend it first"))
    ended = await bench.resume(*one("a"), gate=SILENT_RED)
    assert ended.state.ended is not None
    assert (ended.state.ended.outcome, ended.state.spend.total.calls) == ("cancelled", 0)
    assert "(mend it first) did not want to go on with it; mend it or give another --gate" in ended.state.ended.reason


async def test_nobody_is_asked_about_a_red_gate_where_that_is_the_goal(bench: Bench) -> None:
    green = {"command": "test ! -e red", "report": "exit-code"}
    (bench.repository / "red").touch()
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "red")
    mends = uses("worker", "a", "shell", command="git rm -q red")
    work = (plans("root", {"key": "a"}), mends, worker_ends("a"), reviews("a"), planner_ends(), judges())
    ended = await bench.run(*work, gate=green, approval={"red_gate": "go-on"})
    assert (ended.state.approvals, ended.state.landings != []) == ({}, True)


async def test_settings_that_are_not_committed_are_said_to_be_used(bench: Bench) -> None:
    (bench.repository / "orchestrate.toml").write_text("schema = 1\n")
    (bench.repository / "notes.txt").write_text("mine\n")
    ended = await bench.run(*one("a"))
    used, left_out = (notice.text for notice in ended.state.notices[:2])
    assert used.startswith("orchestrate.toml is used as it stands in your checkout, although that is not committed")
    assert "changes that are not committed (notes.txt)" in left_out


async def test_a_dirty_checkout_is_allowed_and_told(bench: Bench) -> None:
    (bench.repository / "calc.py").write_text("broken on purpose\n")
    ended = await bench.run(*one("a"))
    assert ended.exit_code == 0
    assert "changes that are not committed (calc.py)" in ended.state.notices[0].text
    assert (bench.repository / "calc.py").read_text() == "broken on purpose\n"


async def test_doctor_tells_of_limits_for_a_provider_that_nobody_asks(bench: Bench) -> None:
    options = bench.options(one("a"))
    key = str(options.flags["roles"]["worker"]["model"])
    options = Options(bench.repository, options.flags | {"providers": {"opnai": {"rpm": 5}, key: {"rpm": 5}}})
    findings = [finding async for finding in check_requirements(options)]
    assert [(found.name, found.is_ok, found.is_warning) for found in findings if "providers" in found.name] == [
        ("providers.opnai", False, True)
    ]
