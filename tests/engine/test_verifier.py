"""A verifier in a run: it writes tests from the task alone, and they keep out what the project's own tests let pass."""

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import Retry
from orchestrator.domain.event.work import SessionStarted
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import VERIFIER_CHECK
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.task import EndCause, Exit, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.report.task.verification_lines import render_verification_lines
from orchestrator.run_control.control import send_command
from orchestrator.scratch_runs.replay import replay_run
from tests.loopback.builders import reply
from tests.running.goals import Bench, status
from tests.running.projects import GATE_FLAGS, git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes
from tests.running.verifiers import (
    GOOD,
    HEAD,
    LEAVING_CODE,
    RIGHT_CODE,
    TASK,
    WRONG,
    WRONG_CODE,
    attempt,
    build_file,
    build_script,
    kinds_of,
    run_half,
    submits,
    task_of,
    verification_of,
)

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


def first_words(ended: RunExit, role: str) -> str:
    """All that the role was told at the beginning of its conversations."""
    events = (one.event for one in read_all_events(ended.directory.journal))
    started = (one for one in events if isinstance(one, SessionStarted) and one.role == role)
    return "\n".join(one.system.head + one.brief.head for one in started)


async def test_a_process_that_ends_with_status_zero_before_a_test_is_told_passes_no_file(bench: Bench) -> None:
    gate = {"command": GATE_FLAGS["command"], "report": "auto"}
    ended = await run_half(bench, submits(build_file(GOOD)), *attempt(LEAVING_CODE), *attempt(RIGHT_CODE), gate=gate)
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    first = task_of(ended).verdicts[0].verdict
    assert first.verifier_failures == ("test_half_of.py",)
    assert "the run told no outcome of any test of the file" in "\n".join(first.reasons)


async def test_a_change_that_the_projects_tests_let_pass_goes_back_until_it_passes_tests_written_blind(
    bench: Bench,
) -> None:
    ended = await run_half(bench, submits(build_file(GOOD)), *attempt(WRONG_CODE), *attempt(RIGHT_CODE))
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    first = task_of(ended).verdicts[0].verdict
    assert first.cause == EndCause.REFUSED_BY_VERIFIER
    assert first.verifier_failures == ("test_half_of.HalfTest.test_seven",)
    assert "AssertionError: 3 != 3.5" in "\n".join(first.reasons)
    kept = [receipt for receipt in ended.state.receipts.values() if receipt.kind == VERIFIER_CHECK]
    assert kept[0].command == f"{GATE_FLAGS['command']} test_half_of.py"
    told = first_words(ended, "verifier")
    assert "half(3) is 1.5" in told and "class CalcTest" in told
    assert "SECRET WORDS" not in told and "n // 2" not in told
    report = await replay_run(
        Options(bench.repository, {"state": {"dir": str(bench.root / "state")}}), None, ReplayOptions()
    )
    assert (report.is_same, report.is_whole) == (True, True), report.divergences


async def test_a_worker_contests_a_wrong_test_once_and_a_judge_drops_it(bench: Bench) -> None:
    contests = uses("worker", "half", "contest_test", test="test_seven", why="the task says divided, not rounded")
    rules = uses("judge", "half", "submit_verdict", decision="drop", reasons=["the task says divided by two"])
    again = attempt(RIGHT_CODE, contests)
    ended = await run_half(bench, submits(build_file(WRONG)), *attempt(RIGHT_CODE), *again, rules)
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    (contest,) = verification_of(ended).contests
    assert (contest.test, contest.is_dropped) == ("test_half_of.HalfTest.test_seven", True)
    shown = "\n".join(render_verification_lines(verification_of(ended)))
    assert "contested in attempt 2, dropped: test_half_of.HalfTest.test_seven" in shown
    assert "the judge: the task says divided by two" in shown


@pytest.mark.slow
async def test_a_test_that_stands_and_stays_red_ends_the_task_and_a_person_can_have_it_tried_without(
    bench: Bench,
) -> None:
    contests = uses("worker", "half", "contest_test", test="test_half_of.HalfTest.test_seven", why="it is wrong")
    rules = uses("judge", "half", "submit_verdict", decision="keep", reasons=["the task says so"])
    items = [submits(build_file(WRONG)), *attempt(RIGHT_CODE), *attempt(RIGHT_CODE, contests), rules]
    ended = await run_half(bench, *items)
    assert (status(ended, "half"), task_of(ended).cause) == (TaskStatus.REJECTED, EndCause.REFUSED_BY_VERIFIER)
    send_command(ended.directory, Retry(task=TaskId("half")))
    again = await bench.resume(*build_script(*items, *attempt(RIGHT_CODE)))
    assert status(again, "half") == TaskStatus.MERGED


@pytest.mark.extended
async def test_what_is_no_test_or_does_not_do_as_was_told_goes_back_twice_and_then_does_not_count(bench: Bench) -> None:
    bad = [
        build_file("import unittest\n", "conftest.py"),
        build_file("def half(:\n", "test_broken.py"),
        build_file(HEAD.replace("half", "calc") + "    pass\n", "half_checks.py"),
        build_file(
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n", "test_idle.py"
        ),
    ]
    rambling = reply("I would test it like this: assert half(3) == 1.5", role="verifier", task="half")
    other_names = uses("verifier", "half", "submit_tests", tests=[{"file_path": "test_half_of.py", "code": GOOD}, *bad])
    ended = await run_half(
        bench, rambling, other_names, submits(*bad, build_file(GOOD)), submits(build_file(GOOD), *bad),
        *attempt(WRONG_CODE), *attempt(RIGHT_CODE), max_files=8,
    )  # fmt: skip
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    assert [counted.path for counted in verification_of(ended).files] == ["test_half_of.py"]
    problems = {one.path: one.problem for one in verification_of(ended).trials[-1].problems}
    assert {path: text.partition(":")[0] for path, text in problems.items()} == {
        "conftest.py": "it is no file of tests by its path",
        "test_broken.py": "it is no Python",
        "half_checks.py": "it is no file of tests by its path",
        "test_idle.py": "it is called new-behaviour, but all its tests pass on the base, where nothing has changed yet",
    }


@pytest.mark.slow
async def test_tests_land_with_the_change_where_the_plan_says_so(bench: Bench) -> None:
    ended = await run_half(bench, submits(build_file(GOOD)), *attempt(RIGHT_CODE), draft={"lands_tests": True})
    assert status(ended, "half") == TaskStatus.MERGED
    landed = git(bench.repository, "ls-tree", "-r", "--name-only", str(ended.state.head)).splitlines()
    assert landed == [".gitignore", "calc.py", "half.py", "test_calc.py", "test_half_of.py"]


@pytest.mark.slow
async def test_a_change_with_tests_of_its_own_needs_no_verifier_unless_its_plan_says_so(bench: Bench) -> None:
    own = writes("half", "test_half.py", GOOD)
    ended = await run_half(bench, *attempt(WRONG_CODE.replace("//", "/"), own), when="no-tests")
    assert (status(ended, "half"), task_of(ended).verification) == (TaskStatus.MERGED, None)


GATES = {
    "per file": {"command": "python3 -m pytest -q", "report": "auto"},
    "pytest behind a script": {"command": "sh check.sh", "report": "auto"},
    "whole": {"command": "python3 -m unittest -v && true", "report": "unittest"},
    "exit code of all": {"command": "python3 -m unittest -v && true", "report": "exit-code"},
    "exit code of a file": {"command": "python3 -m unittest", "report": "exit-code"},
}


@pytest.mark.slow
@pytest.mark.parametrize("gate", GATES)
async def test_whatever_the_gate_can_tell_a_wrong_change_is_caught_and_a_right_one_lands(
    bench: Bench, gate: str
) -> None:
    (bench.repository / "check.sh").write_text("set -e\npython3 -m pytest -q\necho all is well\n")
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "a check of its own")
    items = [submits(build_file(GOOD)), *attempt(WRONG_CODE), *attempt(RIGHT_CODE)]
    ended = await run_half(bench, *items, gate=GATES[gate])
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    kept = [receipt for receipt in ended.state.receipts.values() if receipt.kind == VERIFIER_CHECK]
    has_only_its_tests = [receipt.counts.total <= 1 for receipt in kept if receipt.tests is not None]
    assert all(has_only_its_tests) == (gate != "whole")


@pytest.mark.slow
async def test_a_verifier_whose_budget_is_spent_stops_no_run(bench: Bench) -> None:
    rambling = reply("I would test odd numbers.", role="verifier", task="half")
    budget = {"roles": {"verifier": {"calls": 1}}}
    ended = await run_half(bench, rambling, submits(build_file(GOOD)), *attempt(WRONG_CODE), budget=budget)
    assert (status(ended, "half"), ended.exit_code) == (TaskStatus.MERGED, 0)
    assert (verification_of(ended).exit, verification_of(ended).files) == (Exit.OUT_OF_BUDGET, ())
    assert any(one.code == NoticeCode.VERIFIER_TESTS_DROPPED for one in ended.state.notices)


@pytest.mark.slow
async def test_on_a_new_base_only_what_is_still_so_there_counts(bench: Bench) -> None:
    """The second attempt begins on what `other` landed, which changes `double`: that is not the fault of `half`."""
    old = HEAD.replace("half import half", "calc import double")
    old += "    def test_even(self):\n        self.assertEqual(double(4) % 2, 0)\n"
    items = [
        plans("root", TASK, {"key": "other", "grants": ["test_calc.py"]}),
        submits(build_file(GOOD), build_file(old, "test_double_of.py", base="green")),
        uses("verifier", "other", "submit_tests", files=[]),
        edits("other", "calc.py", "add(a, a)", "add(a, a) + 1"),
        edits("other", "test_calc.py", "double(4), 8", "double(4), 9"),
        *(worker_ends("other"), reviews("other")),
        *(*attempt(RIGHT_CODE), reviews("half", "reject", "not now")),
        *(*attempt(RIGHT_CODE), reviews("half", points=1)),
        *[planner_ends()] * 2,
        *[judges()] * 2,
    ]
    model = {"model": write_script(bench.root / "script.json", items)}
    roles = dict.fromkeys(("planner", "worker", "judge"), model) | {"verifier": {**model, "when": "always"}}
    ended = await bench.run(*items, roles=roles)
    assert (status(ended, "other"), status(ended, "half")) == (TaskStatus.MERGED, TaskStatus.REJECTED)
    send_command(ended.directory, Retry(task=TaskId("half")))
    again = await bench.resume(*items, roles=roles)
    assert status(again, "half") == TaskStatus.MERGED
    first, second = task_of(again).attempts
    assert first.base != second.base
    assert [counted.path for counted in verification_of(again).files] == ["test_half_of.py", "test_double_of.py"]
