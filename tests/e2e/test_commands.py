"""Commands given from other shells at moments when they nearly miss the engine."""

import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.running.killing import kill_engines
from tests.running.terminals import SleepyRun, in_shell

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


@pytest.mark.extended
def test_an_answer_that_came_too_early_or_too_late_is_told_of_and_spoils_nothing(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    review = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    run.says(*run.words, "--detach", *review)
    run.wait_for(in_shell)
    early = run.says("approve", "latest", "landing/a@1", "--json")
    assert (early.code, early.json["taken"]) == (2, True)
    run.wake()
    run.wait_for(lambda recorded: recorded.event.kind == "run.paused")
    assert run.says("approve", "latest").code == 0
    late = run.says("reject", "latest", "landing/a@1", "--json")
    assert (late.code, bool(late.json["refused"])) == (2, True)
    run.wait_for_the_end()
    assert Counter(recorded.event.kind for recorded in run.events())["landing.finished"] == 1


@pytest.mark.extended
def test_an_answer_that_the_engine_misses_as_it_leaves_wakes_another_one(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=0.1)
    notify = ("--set", 'notify.command="sleep 7"', "--set", 'notify.on=["approval.requested"]')
    run.says(*run.words, "--detach", "--approval", "pr", *notify)
    run.wait_for(lambda recorded: recorded.event.kind == "run.paused")
    assert run.says("approve", "latest", "--json").json["refused"] == ""
    run.wait_for_the_end()


@pytest.mark.extended
def test_a_pause_and_what_takes_it_back_before_any_engine_lives(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=1)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    assert kill_engines(tmp_path) == 1
    assert [run.says(word, "latest").code for word in ("pause", "continue")] == [0, 0]
    run.wait_for_the_end()


def test_a_killed_run_is_stopped_for_every_verb_and_continue_goes_on_with_it(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=1)
    run.says(*run.words, "--detach")
    run.wait_for(in_shell)
    assert "running: there is nothing to continue" in run.says("continue", "latest").err
    assert kill_engines(tmp_path) == 1
    while run.says("status", "latest", "--json").json["is_live"]:
        time.sleep(0.05)
    name, status = run.directory.name, run.says("status", "latest")
    assert status.out.startswith(f"{name}  stopped  sleepy steps\n  Stopped: its engine is gone")
    assert f"next: orchestrate resume {name}: " in status.out
    assert run.says("status", "latest", "--json").json["condition"]["word"] == "stopped"
    assert run.says("report", "latest", "--md", "-").out.startswith("## repo: stopped\n")
    assert run.says("continue", "latest").code == 0
    run.wait_for_the_end()


def test_a_terminal_that_is_told_to_stop_while_its_engine_starts_stops_it(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=20)
    terminal = run.begin(*run.words)
    while not list(tmp_path.glob("state/*/runs/*/engine.log")):
        time.sleep(0.01)
    terminal.send_signal(signal.SIGTERM)
    terminal.communicate(timeout=300)
    assert terminal.returncode == 143
