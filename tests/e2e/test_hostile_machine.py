"""Clocks that jump, machines that sleep, disks that are full or read-only: a named outcome, and resumable."""

import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.app.run_creation import create_goal_run
from orchestrator.app.run_execution import execute_run
from orchestrator.app.wiring import RunOverrides, open_run
from orchestrator.domain.event.run import ClockJumped
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import environment
from tests.running.goals import Bench, When, one
from tests.running.killing import processes_about
from tests.running.mistakes import assert_said
from tests.running.projects import GATE, calculator
from tests.running.scripts import write_script

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


class SetClock(SystemClock):
    """A clock that somebody sets while the run goes on."""

    def __init__(self) -> None:
        self.set_by = timedelta()

    def now(self) -> datetime:
        """The time that the wall clock shows."""
        return super().now() + self.set_by


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-2)])
async def test_a_clock_that_is_set_costs_no_time_and_ends_nothing(tmp_path: Path, jump: timedelta) -> None:
    bench, clock = Bench(tmp_path, calculator(tmp_path / "repo")), SetClock()

    def set_clock(_event: object) -> None:
        clock.set_by = jump

    slow = [item.model_copy(update={"delay_s": 1.2}) if item.role == "worker" else item for item in one("a")]
    place = await create_goal_run(bench.options(slow, run={"time_limit_s": 3_600}), "make it better")
    means = RunOverrides(open_journal=lambda path, _clock: Journal(path, clock))
    async with open_run(place, When("attempt.started", set_clock), means) as context:
        await execute_run(context)
    assert context.state.ended and context.state.ended.outcome == "done"
    (jumped,) = [one.event for one in read_all_events(place.directory.journal) if isinstance(one.event, ClockJumped)]
    assert abs(jumped.by_s - jump.total_seconds()) < 5
    assert 0 < context.state.wall_s < 60


class Machine:
    """A machine whose state directory lies on a small disk of its own, seen by nobody else.

    The worker's first reply comes after `delay_s`; `hurry` is the command after which it does at once.
    """

    def __init__(self, place: Path, disk: str, delay_s: float = 0.0) -> None:
        calculator(place / "repo")
        (place / "state").mkdir()
        items = one("a")
        write_script(place / "quick.json", items)
        items[1] = items[1].model_copy(update={"delay_s": delay_s})
        model = write_script(place / "script.json", items)
        models = " ".join(f"--model {role}={model}" for role in ("planner", "worker", "judge"))
        where = f"--repo {place}/repo --state {place}/state"
        gate = f"--gate '{GATE}' --set gate.report=unittest"
        self.place = place
        self.run = f"{sys.executable} -m orchestrator run 'make it better' {gate} {models} {where}"
        self.resume = f"{sys.executable} -m orchestrator resume {where} --json"
        self.hurry = f"cp {place}/quick.json {place}/script.json"
        self.disk = f"mount -t tmpfs -o {disk} tmpfs {place}/state"

    def does(self, *commands: str) -> tuple[list[int], str]:
        """Run commands one after the other; their exit codes and all that they said."""
        script = "\n".join(f"{command}\necho CODE=$? >&2" for command in (self.disk, *commands))
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script],
            cwd=self.place,
            env=environment(self.place),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        told = done.stdout + done.stderr
        codes = [int(line.removeprefix("CODE=")) for line in done.stderr.splitlines() if line.startswith("CODE=")]
        assert "Traceback" not in told, told
        return codes[1:], told


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of its own")


@pytest.mark.extended
@needs_root
def test_a_full_disk_stops_the_run_by_its_name_and_freed_space_lets_it_go_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "size=24m", delay_s=5)
    # the disk fills up as soon as the worker has begun
    fill = f"(until grep -qs attempt.started {tmp_path}/state/*/runs/*/journal.db*; do sleep 0.05; done; "
    fill += f"dd if=/dev/zero of={tmp_path}/state/filler bs=64k 2>/dev/null) &"
    codes, told = machine.does(fill, machine.run, f"rm {tmp_path}/state/filler", machine.hurry, machine.resume)
    assert codes == [0, 7, 0, 0, 0], told
    assert_said("a full disk", told)
    assert "free some disk space" in told or "No space left on device" in told
    assert '"outcome": "done"' in told
    assert processes_about(tmp_path) == []


@pytest.mark.extended
@needs_root
def test_a_state_directory_that_cannot_be_written_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "size=64m")
    lock, unlock = (f"mount -o remount,{mode} {tmp_path}/state" for mode in ("ro", "rw"))
    more = f"{machine.resume} --set budget.calls=50"
    codes, told = machine.does(f"{machine.run} --set budget.calls=2", lock, machine.resume, unlock, more)
    assert codes == [5, 0, 7, 0, 0], told
    assert_said("a state directory that cannot be written to", told)


@pytest.mark.extended
@needs_root
def test_a_home_that_cannot_be_written_is_named_and_a_state_directory_elsewhere_is_enough(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "size=64m")
    (tmp_path / "home").mkdir()
    home = f"mount -t tmpfs -o ro,size=1m tmpfs {tmp_path}/home && export HOME={tmp_path}/home && unset XDG_STATE_HOME"
    without_state = machine.run.removesuffix(f" --state {tmp_path}/state")
    codes, told = machine.does(home, without_state, machine.run)
    assert codes == [0, 7, 0], told
    assert_said("a home directory that cannot be written to", told)


@pytest.mark.extended
def test_an_engine_that_is_stopped_for_a_while_goes_on_when_nobody_took_over(tmp_path: Path) -> None:
    calculator(tmp_path / "repo")
    slow = [item.model_copy(update={"delay_s": 0.5}) for item in one("a")]
    model = write_script(tmp_path / "script.json", slow)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    words = [
        "run",
        "make it better",
        "--gate",
        GATE,
        "--set",
        "gate.report=unittest",
        "--set",
        "run.lease_s=2",
        *models,
    ]
    terminal = subprocess.Popen(
        [sys.executable, "-m", "orchestrator", *words, *where], cwd=tmp_path, env=environment(tmp_path)
    )
    while not (locks := list(tmp_path.glob("state/*/runs/*/engine.log"))):
        time.sleep(0.05)
    lock = locks[0].with_name("lock")
    while "lease 2" not in lock.read_text():
        time.sleep(0.05)
    engine = int(lock.read_text().split()[1])
    os.kill(engine, signal.SIGSTOP)
    time.sleep(2.5)  # longer than its lease
    os.kill(engine, signal.SIGCONT)
    assert terminal.wait(300) == 0
