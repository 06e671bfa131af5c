"""The engine is a process of its own: terminals come and go, two never work at once, one that slept is fenced off."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.running.killing import kill_engines, processes_about
from tests.running.projects import git
from tests.running.terminals import SleepyRun, in_shell

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


def test_a_detached_run_prints_its_id_and_goes_on_alone(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    started = run.says(*run.words, "--detach")
    assert (started.code, started.out.strip()) == (0, run.directory.name)
    assert run.says("status", "--json").json["is_live"]
    run.wake()
    run.wait_for_the_end()
    assert run.says("resume", "--json").json["outcome"] == "done"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_terminal_that_goes_away_ends_nothing(tmp_path: Path, number: signal.Signals) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    terminal = run.begin(*run.words)
    run.wait_for(in_shell)
    terminal.send_signal(number)
    terminal.communicate(timeout=120)
    assert not any(recorded.event.kind == "run.ended" for recorded in run.events())
    run.wake()
    run.wait_for_the_end()
    assert Counter(recorded.event.kind for recorded in run.events())["engine.started"] == 1


def test_of_two_resumes_at_once_one_works_and_the_other_says_who(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    assert kill_engines(tmp_path) == 1
    both = [run.begin("resume") for _ in range(2)]
    while all(process.poll() is None for process in both):
        time.sleep(0.05)
    run.wake()
    said = [process.communicate(timeout=300)[1] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 8], said
    assert "is being worked on by process" in said[codes.index(8)]
    assert Counter(recorded.event.kind for recorded in run.events())["landing.finished"] == 1


@pytest.mark.extended
def test_an_engine_that_slept_past_its_lease_can_neither_record_nor_land(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=3)
    run.says(*run.words, "--detach", "--set", "run.lease_s=10")
    run.wait_for(in_shell)
    sleeper = run.engine()
    os.kill(sleeper, signal.SIGSTOP)
    its_end = time.monotonic() + 10.5
    try:
        assert run.says("resume").code == 8, "within the lease it may only be slow"
        time.sleep(max(0.0, its_end - time.monotonic()))
        done = run.says("resume", "--json")
        assert (done.code, done.json["outcome"]) == (0, "done"), done.err
        recorded = len(run.events())
        tip = git(tmp_path / "repo", "rev-parse", done.json["pr_branch"])
    finally:
        os.kill(sleeper, signal.SIGCONT)
    until = time.monotonic() + 120
    while processes_about(tmp_path / "state") and time.monotonic() < until:
        time.sleep(0.1)
    assert processes_about(tmp_path / "state") == []
    assert len(run.events()) == recorded
    assert git(tmp_path / "repo", "rev-parse", done.json["pr_branch"]) == tip
    assert "took over" in (run.directory / "engine.log").read_text()


def test_an_answer_from_another_shell_wakes_a_run_that_nobody_works_on(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0.1)
    asked = run.says(*run.words, "--approval", "pr")
    assert (asked.code, processes_about(tmp_path)) == (6, [])
    assert run.says("inbox").out.startswith("q1  pull-request/")
    wrong = run.says("approve", "latest", "q2")
    assert (wrong.code, "has asked no q2" in wrong.err) == (2, True)
    answers = [run.begin("approve", "latest", "q1") for _ in range(2)]
    for answer in answers:
        answer.communicate(timeout=300)
    run.wait_for_the_end()
    kinds = Counter(recorded.event.kind for recorded in run.events())
    assert (kinds["approval.decided"], kinds["pr.opened"]) == (1, 1)
    assert run.says("resume", "--json").json["outcome"] == "done"


def test_an_engine_that_dies_is_told_of_with_its_log_and_the_way_on(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    terminal = run.begin(*run.words)
    run.wait_for(in_shell)
    assert kill_engines(tmp_path) == 1
    _, said = terminal.communicate(timeout=120)
    assert terminal.returncode == 7
    assert "the engine ended without a word (signal 9)" in said
    assert "orchestrate resume" in said
    run.wake_later()
    assert run.says("resume", "--json").json["outcome"] == "done"


@pytest.mark.extended
def test_a_larger_budget_reaches_a_run_that_is_being_worked_on(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    run.says(*run.words, "--detach", "--set", "budget.calls=3", "--set", "budget.reserve=0")
    run.wait_for(in_shell)
    told = run.says("resume", "--set", "budget.calls=50")
    assert told.code == 8
    assert "which takes the settings given here" in told.err
    run.wake()
    run.wait_for_the_end()
