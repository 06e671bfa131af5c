"""`orchestrate watch` on a real terminal: it comes, fits, sleeps and goes, and the run never notices."""

import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.locations.run_lock import RunLock
from tests.running.cli import COMMAND, environment
from tests.running.journals import Fleet, fleet_journal, write_batches
from tests.running.killing import kill_engines
from tests.running.projects import calculator
from tests.running.terminals import SleepyRun, in_shell
from tests.running.tmux import Terminal, needs_tmux, processes_that, terminal

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600), needs_tmux]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SleepyRun]:
    """A run whose worker sleeps in a command for longer than all tests here take."""
    sleepy = SleepyRun(tmp_path_factory.mktemp("watched"), sleep_s=500)
    sleepy.says(*sleepy.words, "--detach")
    sleepy.wait_for(in_shell)
    yield sleepy
    assert kill_engines(sleepy.place) == 1, "no watcher has ended the engine"


def is_shown(lines: Sequence[str]) -> bool:
    """Whether the whole frame is there."""
    return len(lines) > 2 and "LIVE" in lines[0] and "Fleet" in lines[1] and lines[-1].endswith("q detach")


def test_it_comes_at_once_and_leaves_the_terminal_as_it_was(run: SleepyRun) -> None:
    with terminal(run.place) as window:
        window.run("watch", *run.where)
        lines = window.wait_for(is_shown)
        assert run.directory.name[-4:] in lines[0]
        assert window.is_set("alternate_on")
        assert window.is_set("mouse_any_flag")
        window.press("q")
        lines = [line for line in window.wait_for(lambda lines: "exit=" in "".join(lines)) if line]
        assert "exit=0" in lines
        assert len(lines) < 6
        assert "goes on, come back with: orchestrate watch" in " ".join(lines)
        assert (window.is_set("alternate_on"), window.is_set("mouse_any_flag")) == (False, False)
        assert window.is_set("cursor_flag")
    assert run.says("status", "--json").json["is_live"]


def test_it_fits_every_size_it_is_given(run: SleepyRun) -> None:
    with terminal(run.place, 120, 30) as window:
        window.run("watch", *run.where, "--no-mouse")
        window.wait_for(is_shown)
        assert not window.is_set("mouse_any_flag")
        for width, height in ((200, 60), (60, 15), (40, 12), (120, 30)):
            window.resize(width, height)
            lines = window.wait_for(lambda lines, height=height: len(lines) == height and is_shown(lines))  # type: ignore[misc]
            assert not any("Traceback" in line for line in lines)


def test_it_fits_every_size_while_two_hundred_are_at_work(tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    place = StateDirectory.locate_for(tmp_path / "repo", str(tmp_path / "state")).get_run(RunId("fleet"))
    fleet_journal(place.path, workers=200, lines=0, asking=0)
    is_over = threading.Event()
    writing = threading.Thread(target=work_on, args=(place, is_over))
    with terminal(tmp_path, 120, 30) as window:
        writing.start()
        try:
            window.run("watch", *where)
            turns = {turn_of(window.wait_for(is_shown))}
            for width, height in ((200, 60), (60, 15), (120, 30)):
                window.resize(width, height)
                lines = window.wait_for(lambda lines, height=height: len(lines) == height and is_shown(lines))  # type: ignore[misc]
                assert not any("Traceback" in line for line in lines)
                turns.add(turn_of(lines))
        finally:
            is_over.set()
            writing.join()
    assert len(turns) > 1, "nothing happened meanwhile"


def work_on(place: RunDirectory, is_over: threading.Event) -> None:
    """Be the engine of a large fleet until it is over: some thousand events a second, under the run's lock."""
    events = Fleet(place.path, 200, first_turn=10).works()

    def batches(lock: RunLock) -> Iterator[list[Event]]:
        while not is_over.wait(0.05):
            lock.record_heartbeat()
            yield list(islice(events, 200))

    with place.hold_lock() as lock:
        lock.write_owner(60)
        write_batches(place.path, batches(lock))


def turn_of(lines: Sequence[str]) -> str:
    """What the header says of how much was spent and said so far."""
    return " ".join(word for word in lines[0].split() if word.startswith("$"))


def test_it_sleeps_and_wakes_as_other_programs_do(run: SleepyRun) -> None:
    with terminal(run.place) as window:
        window.run("watch", *run.where)
        window.wait_for(is_shown)
        window.press("C-z")
        window.wait_for(lambda lines: "Stopped" in "".join(lines))
        assert not window.is_set("alternate_on")
        window.type("fg")
        window.wait_for(is_shown)


def test_two_watch_at_once_and_the_death_of_one_matters_to_nobody(run: SleepyRun) -> None:
    last = run.events()[-1].seq
    with terminal(run.place, 120, 30) as one, terminal(run.place, 120, 30) as other:
        for window in (one, other):
            window.run("watch", *run.where, "--read-only")
            all_events(window, last)
        first, second = processes_that("watch", *run.where)
        os.kill(first, signal.SIGKILL)
        one.wait_for(lambda lines: "exit=137" in "".join([*lines, *other.lines()]))
        killed, left = (one, other) if "exit=137" in "".join(one.lines()) else (other, one)
        assert processes_that("watch", *run.where) == [second]
        killed.type("reset")
        killed.run("watch", *run.where)
        all_events(killed, last)
        left.press("1", "6")
        left.wait_for(lambda lines: is_shown(lines) and f"[{last} all events]" in lines[1])
    assert run.says("status", "--json").json["is_live"]
    assert run.events()[-1].seq == last, "the engine waits for its command"


def all_events(window: Terminal, last: int) -> None:
    """Bring all that happened to the front; the last of it is the run's last event, by its number."""
    window.wait_for(is_shown)
    window.press("6", "v")
    window.wait_for(lambda lines: f"[{last} all events]" in lines[1])


def test_a_window_that_is_shut_takes_only_the_watcher_with_it(run: SleepyRun) -> None:
    with terminal(run.place) as window:
        window.run("watch", *run.where)
        window.wait_for(is_shown)
        watcher = processes_that("watch", *run.where)
        window.close()
        gone(*watcher)
    assert run.says("status", "--json").json["is_live"]


def test_a_terminal_that_goes_without_a_word_is_noticed(run: SleepyRun) -> None:
    ours, theirs = pty.openpty()
    env = environment(run.place, TERM="xterm") | {"CI": ""}
    words = [*COMMAND, "watch", *run.where]
    watcher = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    drawn = b""
    while b"LIVE" not in drawn:
        drawn += os.read(ours, 65_536)
    os.close(ours)
    assert watcher.wait(60) == 0
    assert run.says("status", "--json").json["is_live"]


def gone(*processes: int) -> None:
    """Fail unless these processes have gone soon."""
    until = time.monotonic() + 60
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < until, "a watcher lives on"
        time.sleep(0.1)


def test_what_is_in_front_is_printed_once_and_the_same_key_returns(tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    place = StateDirectory.locate_for(tmp_path / "repo", str(tmp_path / "state")).get_run(RunId("fleet"))
    fleet_journal(place.path, workers=2, lines=4_000, asking=0)
    with terminal(tmp_path, 100, 24) as window:
        window.run("watch", *where)
        window.wait_for(lambda lines: "port module 0" in "".join(lines))
        window.press("g", "Enter")
        window.wait_for(lambda lines: "line 3999" in "".join(lines) or "Transcript" in "".join(lines))
        window.press("L")
        window.wait_for(lambda lines: "port module 0" not in "".join(lines) and "turn  7 is over" in "".join(lines))
        assert not window.is_set("alternate_on")
        window.press("L")
        window.wait_for(lambda lines: lines[-1].endswith("q detach"))
        window.press("q")
        window.wait_for(lambda lines: "exit=0" in "".join(lines))
        lines = window.lines(with_history=True)
    printed = [int(found[1]) for line in lines if (found := re.search(r"\bline (\d+): ", line))]
    assert printed == list(range(4_000))
