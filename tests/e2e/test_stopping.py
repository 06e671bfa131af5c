"""Ctrl-C once, twice, SIGTERM and time limits: what runs is finished or kept, and the printed command goes on."""

import json
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.running.in_process import orchestrate
from tests.running.killing import processes_about
from tests.running.terminals import SleepyRun, in_shell

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]


def read_until(stream: IO[str], words: str) -> Iterator[str]:
    """The lines of a stream, up to the first that holds these words."""
    for line in stream:
        yield line
        if words in line:
            return


def test_ctrl_c_once_finishes_what_runs_and_starts_nothing_new(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600, tasks="ab")
    process = run.begin()
    run.wait_for(in_shell)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    begun = "".join(read_until(process.stderr, "Ctrl-C: stopping"))  # what it waits for is what is at work by then
    run.wake()
    said = begun + process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert "Ctrl-C: stopping; waits for 1 task (1 command) under way; Ctrl-C again stops at once" in said
    assert re.search(r"^run \S+  stopped: what was running is finished, the rest waits$", said, re.MULTILINE)
    assert "go on with: orchestrate resume" in said
    kinds = [one.event.kind for one in run.events()]
    assert kinds.count("landing.finished") == 1, "the task that ran has landed"
    assert kinds.count("attempt.started") == 1, "the next one was not begun"
    again = run.begin("resume", "--json")
    run.wake()
    assert json.loads(again.communicate(timeout=300)[0])["outcome"] == "done"


@pytest.mark.parametrize(("signals", "code"), [((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143)])
def test_ctrl_c_twice_or_sigterm_stop_at_once_and_keep_everything(
    tmp_path: Path, signals: tuple[signal.Signals, ...], code: int
) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    process = run.begin()
    run.wait_for(in_shell)
    for number in signals:
        process.send_signal(number)
        if number == signal.SIGINT:
            run.wait_for(lambda recorded: recorded.event.kind == "command.taken")
    _, said = process.communicate(timeout=300)
    assert (process.returncode, "Traceback" in said) == (code, False)
    assert ("what is running is finished" in said) == (signal.SIGINT in signals)
    assert ("Ctrl-C: stops at once; what was recorded is kept" in said) == (signal.SIGINT in signals)
    assert "landing.finished" not in {one.event.kind for one in run.events()}, "nobody waited for what was running"
    assert processes_about(tmp_path) == []
    printed = re.search(r"^go on with: orchestrate (.+)$", said, re.MULTILINE)
    assert printed, said
    run.wake_later()
    again = orchestrate(*shlex.split(printed[1]), "--json", cwd=Path("/"))
    assert (again.code, again.json["outcome"]) == (0, "done")


@pytest.mark.extended
def test_a_time_limit_is_one_of_the_whole_run_and_stops_resumably(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    process = run.begin(*run.words, "--time-limit", "3s")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 5
    assert "the time limit of 3 s is reached" in said
    assert orchestrate("resume", *run.where, cwd=tmp_path).code == 5, "nothing is left of the three seconds"
    run.wake_later()
    assert run.resume("--time-limit", "0")["outcome"] == "done"


@pytest.mark.extended
def test_a_run_that_is_being_worked_on_is_locked(tmp_path: Path) -> None:
    run = SleepyRun(tmp_path, sleep_s=600)
    process = run.begin()
    run.wait_for(in_shell)
    second = orchestrate("resume", *run.where, cwd=tmp_path)
    assert second.code == 8
    assert f"is being worked on by process {run.engine()} on" in second.err
    status = orchestrate("status", "--json", *run.where, cwd=tmp_path).json
    assert (status["is_live"], status["outcome"]) == (True, "running")
    run.wake()
    process.communicate(timeout=300)
    assert process.returncode == 0
