"""Engines killed alone, and power cut for an engine and all of its processes: every run resumes by `resume` alone.

The counts come from the environment: POWER_KILLS, POWER_CUTS at random moments, POWER_AIMED at a ref being written.
"""

import json
import os
import random
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.domain.event.work import CandidateTaken
from orchestrator.engine.recovery.ref_repair import collect_recorded_refs
from orchestrator.errors import JournalProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import COMMAND, environment, orchestrate
from tests.running.goals import task
from tests.running.killing import Start, as_json, kill_engines, landed_more_than_once, processes_about, unsettled
from tests.running.power import Machine, locks_left, watching_locks
from tests.running.projects import calculator, git, refs
from tests.running.scripts import judges, planner_ends, plans, write_script

KILLS, CUTS, AIMED = (int(os.environ.get(f"POWER_{name}", "15")) for name in ("KILLS", "CUTS", "AIMED"))
TASKS = 12
_LONGEST_S = 120.0
_MOST_LOCKS = 30
_AT_WORK = 8
"""So many events after the last one an engine has done more than to begin."""

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(14400)]


def begun(place: Path, tasks: int = TASKS) -> Start:
    """A goal of many small tasks in a repository of its own."""
    place.mkdir()
    calculator(place / "repo")
    names = [f"t{number:02}" for number in range(tasks)]
    items = [plans("root", *({"key": name} for name in names)), *(item for name in names for item in task(name))]
    model = write_script(place / "script.json", [*items, planner_ends(), judges()])
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", "many files", "--gate", "true", "--set", "gate.report=exit-code", "--set", "run.max_workers=3")
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start((*words, *models), where, place, environment(place))


def going_on(start: Start) -> list[str]:
    """The words with which the run goes on: those it was begun with as long as it has no event."""
    for journal in start.cwd.glob("state/*/runs/*/journal.db"):
        try:
            if read_state(journal).started is not None:
                return ["resume", *start.where]
        except JournalProblem:
            continue  # it died while the journal was made
    return [*start.words, *start.where]


def test_a_run_whose_power_is_cut_while_its_fence_is_written_goes_on(tmp_path: Path) -> None:
    start = begun(tmp_path / "place", 2)
    git_dir = start.cwd / "repo" / ".git"
    left: list[Path] = []
    for _ in range(20):
        with watching_locks(git_dir) as watch:
            machine = Machine.start(going_on(start), start.cwd, start.env)
            watch.await_lock(machine, _LONGEST_S)
            machine.cut_power()
        if left := locks_left(git_dir):
            break
    assert left, "no power cut came while a lock was there"
    ref = str(left[0].relative_to(git_dir)).removesuffix(".lock")
    stuck = subprocess.run(["git", "update-ref", ref, "HEAD"], cwd=git_dir.parent, capture_output=True, check=False)
    assert b".lock': File exists" in stuck.stderr, "git itself does not go on"
    result = as_json(start.resume())
    assert (result["outcome"], result["tasks"]["merged"]) == ("done", 2)
    assert locks_left(git_dir) == []
    assert any(f"{ref} was locked by a process that died" in one for one in result["notices"])


def last_event(start: Start) -> int:
    """The number of the last event of the run, 0 as long as there is none."""
    for journal in start.cwd.glob("state/*/runs/*/journal.db"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT max(seq) FROM event").fetchone()[0] or 0)
    return 0


@dataclass
class Blows:
    """What was done to runs, and what was seen."""

    draw: random.Random
    kinds: list[str]
    told: Path
    count: Counter[str] = field(default_factory=Counter)

    def strike(self, start: Start) -> bool:
        """Let the run go on until the next blow; return False if it came to its end before."""
        kind = self.kinds[-1]
        hit = self._kill(start) if kind == "kill" else self._cut(start, is_aimed=kind == "aimed")
        if hit:
            self.count[self.kinds.pop()] += 1
        self.told.write_text(json.dumps(self.count))
        return hit

    def _kill(self, start: Start) -> bool:
        said = start.cwd / "said"
        with said.open("wb") as log:
            words = [*COMMAND, *going_on(start)]
            process = subprocess.Popen(words, cwd=start.cwd, env=dict(start.env), stdout=log, stderr=log)
        self._let_go_on(start, lambda: process.poll() is None)
        killed = kill_engines(start.cwd)
        code = process.wait(_LONGEST_S) if killed or process.poll() is not None else self._kill_starter(process, start)
        assert killed or code in (0, -9), said.read_text()[-3000:]
        return bool(killed) or code == -9

    def _kill_starter(self, process: "subprocess.Popen[bytes]", start: Start) -> int:
        """Kill a command that has no engine yet, and the engine if it has one by then."""
        process.kill()
        code = process.wait(_LONGEST_S)
        kill_engines(start.cwd)
        return code

    def _let_go_on(self, start: Start, is_on: Callable[[], bool]) -> None:
        """Wait for a random moment, counted from the start or from when the engine is at its work."""
        wanted = self.draw.choice((0, last_event(start) + _AT_WORK))
        until = time.monotonic() + _LONGEST_S
        while is_on() and last_event(start) < wanted and time.monotonic() < until:
            time.sleep(0.02)
        until = time.monotonic() + self.draw.random() * (1.2 if wanted else 2.5)
        while is_on() and time.monotonic() < until:
            time.sleep(0.01)

    def _cut(self, start: Start, *, is_aimed: bool) -> bool:
        git_dir = start.cwd / "repo" / ".git"
        with watching_locks(git_dir) as watch:
            machine = Machine.start(going_on(start), start.cwd, start.env)
            if is_aimed:
                wanted = self.draw.choice((1, 1, self.draw.randrange(1, _MOST_LOCKS)))
                for _ in range(wanted):
                    watch.await_lock(machine, _LONGEST_S)
            else:
                self._let_go_on(start, lambda: machine.is_on)
            was_on = machine.cut_power()
        assert was_on or machine.outer.returncode == 0, machine.said.read_text()[-3000:]
        left = locks_left(git_dir)
        self.count["locks left"] += len(left)
        self.count[f"{'aimed' if is_aimed else 'random'} cuts that left a lock"] += bool(left and was_on)
        if was_on and self.draw.random() < 0.25:
            self._hollow(git_dir)
        return was_on

    def _hollow(self, git_dir: Path) -> None:
        """Take the content of the ref of ours that was written last, as a disk does that promises too much."""
        ours = [file for top in ("refs/orchestrate", "refs/heads/orchestrate") for file in (git_dir / top).rglob("*")]
        files = [file for file in ours if file.is_file() and file.suffix != ".lock" and "prs" not in file.parts]
        if files:
            os.truncate(max(files, key=lambda file: file.stat().st_mtime_ns), 0)
            self.count["refs that lost their content"] += 1


@pytest.mark.extended
def test_runs_struck_again_and_again_end_with_nothing_lost_and_nothing_twice(tmp_path: Path) -> None:
    draw = random.Random(int(os.environ.get("POWER_SEED", "7")))
    kinds = ["kill"] * KILLS + ["cut"] * CUTS + ["aimed"] * AIMED
    draw.shuffle(kinds)
    blows = Blows(draw, kinds, tmp_path / "told.json")
    for number in _until_struck(blows):
        start = begun(tmp_path / f"run-{number}")
        while blows.kinds and blows.strike(start):
            pass
        _check(start)
        blows.count["runs"] += 1
    print(json.dumps(blows.count))  # noqa: T201
    assert (blows.count["kill"], blows.count["cut"], blows.count["aimed"]) == (KILLS, CUTS, AIMED)
    assert blows.count["aimed cuts that left a lock"] >= AIMED // 10


def _until_struck(blows: Blows) -> Iterator[int]:
    number = 0
    while blows.kinds:
        yield number
        number += 1


def _check(start: Start) -> None:
    """The run has come, or comes by `resume` alone, to the end of one that nothing happened to."""
    repository = start.cwd / "repo"
    result = as_json(orchestrate(*going_on(start), "--json", cwd=start.cwd, env=start.env))
    journal = Path(result["journal"])
    assert (result["outcome"], result["tasks"]["merged"]) == ("done", TASKS)
    files = git(repository, "ls-tree", "--name-only", result["pr_branch"]).split()
    assert {f"t{number:02}.txt" for number in range(TASKS)} <= set(files)
    state = read_state(journal)
    units = [unit for landing in state.landings for unit in landing.units]
    assert (len(units), landed_more_than_once(journal), unsettled(journal)) == (TASKS, [], [])
    _check_git(repository, journal)
    assert processes_about(start.cwd) == []
    assert orchestrate("repair", *start.where, cwd=start.cwd, env=start.env).code == 0


def _check_git(repository: Path, journal: Path) -> None:
    events = list(read_all_events(journal))
    candidates = [one.event.commit for one in events if isinstance(one.event, CandidateTaken)]
    assert {git(repository, "cat-file", "-t", commit) for commit in candidates} == {"commit"}
    standing = refs(repository)
    assert {ref: oid for ref, oid in collect_recorded_refs(events).items() if standing.get(ref) != oid} == {}
    assert locks_left(repository / ".git") == []
    fsck = subprocess.run(
        ["git", "fsck", "--full", "--no-dangling"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert (fsck.returncode, fsck.stdout) == (0, ""), fsck.stderr
