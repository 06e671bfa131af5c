"""A verdict or a plan that could not be had: it is asked for again, in the same run, and when a person says so."""

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit, resume_run
from orchestrator.domain.commands.definitions import AddCriterion, Retry
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.contract import Criterion
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, one, task
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

REFUSED = [ScriptedReply(role="judge", task="root", error="request-refused")] * 3
UNJUDGED = [*one("a")[:-1], *REFUSED]
"""A whole run of one task whose judge gives no verdict in any of its three conversations."""


def describe_end(ended: RunExit) -> tuple[int, str]:
    assert ended.state.ended, ended.error
    return ended.exit_code, ended.state.ended.outcome


async def test_a_run_whose_judge_never_answers_is_judged_again_when_it_is_resumed(bench: Bench) -> None:
    first = await bench.run(*UNJUDGED)
    assert describe_end(first) == (3, "partial")
    assert first.state.ended
    assert first.state.ended.cause == "not-judged"
    assert first.state.ended.reason.endswith("(the last of 3 conversations); have it judged again: orchestrate resume")
    kept = await resume_run(bench.options(UNJUDGED), None, may_reopen=False)
    assert describe_end(kept) == (3, "partial"), "an engine that nobody asked to goes on with nothing"
    again = await bench.resume(*UNJUDGED, judges(), budget={"calls": 100})
    assert describe_end(again) == (0, "done")
    assert again.state.overrides[-1]["budget"] == {"calls": 100}
    sessions = [name for name in again.state.sessions if name.startswith("verdict:")]
    assert sessions == ["verdict:1", "verdict:1.2", "verdict:1.3", "verdict:1+1"]


async def test_a_root_whose_run_could_not_be_judged_is_tried_again_by_judging_alone(bench: Bench) -> None:
    ended = await bench.run(*UNJUDGED)
    send_command(ended.directory, Retry(task=ROOT_TASK))
    again = await bench.resume(*UNJUDGED, judges())
    assert describe_end(again) == (0, "done")
    assert again.state.tasks[ROOT_TASK].rounds == 2, "nothing was planned anew"


async def test_a_criterion_that_is_added_where_nothing_could_be_judged_is_judged_with_the_rest(bench: Bench) -> None:
    ended = await bench.run(*UNJUDGED)
    send_command(ended.directory, AddCriterion(criterion=Criterion(id="more", text="", command="test -f a.txt")))
    findings = [{"id": name, "met": True, "evidence": "a.txt"} for name in ("goal", "gate", "more")]
    verdict = uses("judge", "root", "submit_verdict", decision="done", findings=findings)
    again = await bench.resume(*UNJUDGED, verdict)
    assert describe_end(again) == (0, "done")
    assert [finding.id for finding in again.state.goal.iterations[-1].findings] == ["goal", "gate", "more"]


async def test_a_root_planner_that_failed_after_something_landed_can_be_tried_again(bench: Bench) -> None:
    looks = [uses("planner", "root", "list")] * 12
    items = [plans("root", {"key": "a"}), *task("a"), *looks]
    assert describe_end(await bench.run(*items)) == (3, "partial")
    ended = await bench.resume(*items)
    send_command(ended.directory, Retry(task=ROOT_TASK))
    assert describe_end(await bench.resume(*items, planner_ends(), judges())) == (0, "done")


async def test_a_run_with_fresh_tries_is_replayed(bench: Bench) -> None:
    looks = [uses("planner", "root", "list")] * 4
    ended = await bench.run(*looks, *one("a")[:-1], *REFUSED[:2], judges())
    assert describe_end(ended) == (0, "done")
    assert "plan:root@1.1.2" in ended.state.sessions
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert (report.is_same, report.is_whole) == (True, True), report


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_two_hundred_tasks_with_long_reports_are_judged_in_a_window_of_128k(bench: Bench) -> None:
    names = [f"t{number}" for number in range(200)]
    items = [plans("root", *({"key": name} for name in names)), planner_ends(), judges()]
    for name in names:
        items += [writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name, "all is well " * 250), reviews(name)]
    gate = {"command": "true", "report": "exit-code", "reruns": 0, "repeats": False, "mutants": 0}
    settings = {"run": {"max_workers": 8}, "plan": {"max_children": 200}, "approval": {"red_gate": "go-on"}}
    ended = await bench.run(*items, gate=gate, **settings)
    assert describe_end(ended) == (0, "done")
    assert len(ended.state.landed_units) == 200
    assert list(ended.state.sessions).count("verdict:1") == 1
