"""What verbs say while and after they work: a plan that is being made, and what a cancellation did."""

from pathlib import Path

import pytest

from tests.running.goals import TWO
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator
from tests.running.scripts import write_script
from tests.running.terminals import SleepyRun

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


def test_plan_shows_what_the_planner_does_and_that_it_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestrator.cli.run import plan_progress

    monkeypatch.setattr(plan_progress.PlanProgress.__init__, "__defaults__", (0.1,))
    calculator(tmp_path / "repo")
    slow = [TWO[0].model_copy(update={"delay_s": 1.5})]
    model = write_script(tmp_path / "script.json", slow)
    where = ("--repo", tmp_path / "repo", "--state", tmp_path / "state")
    done = orchestrate("plan", "make it better", "--model", f"planner={model}", "--json", *where, cwd=tmp_path)
    assert done.code == 0
    assert [task["key"] for task in done.json["tasks"]] == ["a", "b"], "standard output is the plan alone"
    assert "plans; nothing is changed" in done.err
    assert "the planner is thinking" in done.err
    assert "1 call, " in done.err


@pytest.mark.extended
def test_cancel_says_what_is_stopped_what_is_kept_and_how_to_take_it_back(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0, tasks=("a", "b"))
    asks = ("--approval", "review", "--set", 'approval.paths=["b.txt"]')
    assert run.says(*run.words, *asks).code == 6
    status = run.says("status", "latest", "--json").json
    told = run.says("cancel", "latest", "b")
    assert told.code == 0
    stopped, kept, back = told.out.splitlines()
    assert stopped == "stopped: b (landing)"
    assert kept.startswith(f"kept: 1 landed task on {status['pr_branch']}, and unfinished work under refs/orchestrate/")
    assert back == f"take it back: orchestrate retry {status['run']} b"
    refused = run.says("cancel", "latest", "b")
    assert (refused.code, refused.out) == (2, "")
    assert run.says("retry", status["run"], "b", "--no-wake").code == 0


def test_cancel_names_the_tasks_that_depend_on_what_it_stops(tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    model = write_script(tmp_path / "script.json", TWO)
    where = ("--repo", tmp_path / "repo", "--state", tmp_path / "state")
    asks = ("--approval", "review", "--set", 'approval.paths=["a.txt"]', "--set", f"roles.default.model={model}")
    gate = ("--gate", GATE, "--set", "gate.report=unittest")
    assert orchestrate("run", "make it better", *gate, *asks, *where, cwd=tmp_path).code == 6
    told = orchestrate("cancel", "latest", "a", *where, cwd=tmp_path)
    assert told.code == 0, told.err
    assert "with it: b, which depend on it; a retry brings them back" in told.out
    assert "kept: nothing has landed yet, and unfinished work under refs/orchestrate/" in told.out


def test_cancel_of_a_whole_run_names_every_task_that_it_stops(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0, tasks=("a", "b"))
    asks = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    assert run.says(*run.words, *asks).code == 6
    told = run.says("cancel", "latest", "--json").json
    assert {one["task"] for one in told["cancelled"]["stopped"]} >= {"a", "b"}
    assert [line.split()[-1] for line in told["cancelled"]["take_back"]] == ["a", "b"]
