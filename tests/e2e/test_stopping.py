"""Ctrl-C once, twice, SIGTERM and time limits: what runs is finished or kept, and the printed command goes on."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.domain.event import Recorded
from orchestrator.domain.event.work import ToolCalled
from orchestrator.journal.store import read_all
from tests.running.cli import COMMAND, environment, orchestrate
from tests.running.killing import processes_about
from tests.running.projects import GATE, calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(120)]


class Run:
    """A run of two tasks, one after the other, each of which sleeps for a while in a command."""

    def __init__(self, place: Path, sleep_s: float) -> None:
        calculator(place / "repo")
        items = [plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]})]
        for name in ("a", "b"):
            items += [
                uses("worker", name, "shell", command=f"sleep {sleep_s}"),
                writes(name, f"{name}.txt", name),
                worker_ends(name),
                reviews(name),
            ]
        model = write_script(place / "script.json", [*items, planner_ends(), judges()])
        models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
        self.place = place
        self.where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
        self.words = ["run", "two steps", "--gate", GATE, "--set", "gate.report=unittest", *models]

    def begin(self, *more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, *self.words, *self.where, *more],
            cwd=self.place,
            env=environment(self.place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def events(self) -> list[Recorded]:
        journals = list(self.place.glob("state/*/runs/*/journal.db"))
        return list(read_all(journals[0])) if journals else []

    def wait_for(self, is_there: Callable[[Recorded], bool]) -> None:
        until = time.monotonic() + 60
        while not any(is_there(event) for event in self.events()):
            assert time.monotonic() < until, "the event never came"
            time.sleep(0.05)

    def engine(self) -> int:
        """The process that holds the run's lock."""
        lock = next(self.place.glob("state/*/runs/*/lock"))
        return int(lock.read_text().split()[1])

    def resume(self, *more: str) -> dict[str, object]:
        done = orchestrate("resume", *self.where, "--json", *more, cwd=self.place)
        assert done.code == 0, done.err
        result: dict[str, object] = done.json
        return result


def in_shell(recorded: Recorded) -> bool:
    return isinstance(recorded.event, ToolCalled) and recorded.event.name == "shell"


def test_ctrl_c_once_finishes_what_runs_and_starts_nothing_new(tmp_path: Path) -> None:
    run = Run(tmp_path, sleep_s=2)
    process = run.begin()
    run.wait_for(in_shell)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what is running is finished" in said
    assert "go on with: orchestrate resume" in said
    kinds = [one.event.kind for one in run.events()]
    assert kinds.count("landing.finished") == 1, "the task that ran has landed"
    assert kinds.count("attempt.started") == 1, "the next one was not begun"
    assert run.resume()["outcome"] == "done"


@pytest.mark.parametrize(("signals", "code"), [((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143)])
def test_ctrl_c_twice_or_sigterm_stop_at_once_and_keep_everything(
    tmp_path: Path, signals: tuple[signal.Signals, ...], code: int
) -> None:
    run = Run(tmp_path, sleep_s=3)
    process = run.begin()
    run.wait_for(in_shell)
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in said) == (code, False)
    assert time.monotonic() - began < 3
    assert processes_about(tmp_path) == []
    assert run.resume()["outcome"] == "done"


def test_a_time_limit_is_one_of_the_whole_run_and_stops_resumably(tmp_path: Path) -> None:
    run = Run(tmp_path, sleep_s=4)
    process = run.begin("--time-limit", "3s")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 5
    assert "the time limit of 3 s is reached" in said
    assert orchestrate("resume", *run.where, cwd=tmp_path).code == 5, "nothing is left of the three seconds"
    assert run.resume("--time-limit", "0")["outcome"] == "done"


def test_a_run_that_is_being_worked_on_is_locked(tmp_path: Path) -> None:
    run = Run(tmp_path, sleep_s=6)
    process = run.begin()
    run.wait_for(in_shell)
    second = orchestrate("resume", *run.where, cwd=tmp_path)
    assert second.code == 8
    assert f"is being worked on by process {run.engine()} on" in second.err
    status = orchestrate("status", "--json", *run.where, cwd=tmp_path).json
    assert (status["is_live"], status["outcome"]) == (True, "running")
    process.communicate(timeout=60)
    assert process.returncode == 0
