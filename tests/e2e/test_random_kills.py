"""Two hundred kills over a run of two hundred tasks, with a model server that counts: nothing lost, nothing twice."""

import json
import os
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.work import ModelCalled
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.run.state import RunState
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import COMMAND, environment
from tests.running.goals import task
from tests.running.killing import Start, as_json, landed_more_than_once, processes_about
from tests.running.projects import calculator, git
from tests.running.scripts import judges, planner_ends, plans, write_script
from tests.running.serving import model_server, model_words, stats

TASKS = int(os.environ.get("KILL_TASKS", "200"))
KILLS = int(os.environ.get("KILLS", "200"))
NEEDED = 3 * TASKS + 3
"""Calls of an undisturbed run: three a task, two of the root planner, one of the judge of the iteration."""

pytestmark = [pytest.mark.extended, pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(5400)]


def test_two_hundred_kills_lose_nothing_and_record_nothing_twice(tmp_path: Path) -> None:
    repository = calculator(tmp_path / "repo")
    names = [f"t{number:03}" for number in range(TASKS)]
    items = [plans("root", *({"key": name} for name in names)), *(item for name in names for item in task(name))]
    write_script(tmp_path / "script.json", [*items, planner_ends(), judges()])
    with model_server([tmp_path / "script.json"], tmp_path / "server.json") as url:
        start = _start(tmp_path, url)
        subprocess.run([*COMMAND, *start.words, *start.where, "--detach"], cwd=tmp_path, env=start.env, check=True)
        directory = next(tmp_path.glob("state/*/runs/*"))
        in_flight = _kill_and_go_on(start, directory, url)
        result = as_json(start.resume())
        begun = stats(url)["calls"]
    told = {"kills": len(in_flight), "calls": begun, "needed": NEEDED, "open at the kills": sum(in_flight)}
    (tmp_path / "told.json").write_text(json.dumps(told))
    journal = Path(result["journal"])
    keys = Counter(one.event.key for one in read_all_events(journal) if isinstance(one.event, Intent))
    assert (result["outcome"], result["tasks"]["merged"]) == ("done", TASKS)
    assert {f"{name}.txt" for name in names} <= set(
        git(repository, "ls-tree", "--name-only", result["pr_branch"]).split()
    )
    assert [key for key, count in keys.items() if count > 1] == []
    assert landed_more_than_once(journal) == []
    assert fold_events(read_all_events(journal)).open_intents == {}
    assert processes_about(tmp_path / "state") == []
    assert len(in_flight) >= min(KILLS, 1)
    assert begun <= NEEDED + sum(in_flight)


def _start(place: Path, url: str) -> Start:
    settings = ("gate.report=exit-code", f"plan.max_children={TASKS}", "run.max_workers=3", "retry.base_s=0.1")
    words = ["run", "many files", "--gate", "true", *model_words(url)]
    words += [word for setting in settings for word in ("--set", setting)]
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(words, where, place, environment(place, LOOPBACK_KEY="sk-not-a-secret"))


def _kill_and_go_on(start: Start, directory: Path, url: str) -> list[int]:
    """Kill every engine soon after it has asked a model; how many calls were open at each kill."""
    draw, open_calls = random.Random(3), []
    _kill_when_it_works(int((directory / "lock").read_text().split()[1]), directory, url, draw)
    while True:
        state = _state(directory)
        if state.ended:
            return open_calls
        open_calls.append(sum(isinstance(intent, ModelCalled) for intent in state.open_intents.values()))
        if len(open_calls) >= KILLS:
            return open_calls
        words = [*COMMAND, "engine", directory.name, *start.where]
        with (directory / "engine.log").open("ab") as log:
            engine = subprocess.Popen(words, cwd=start.cwd, env=dict(start.env), stdout=log, stderr=log)
        _kill_when_it_works(engine.pid, directory, url, draw)
        engine.wait()


def _state(directory: Path) -> RunState:
    return fold_events(read_all_events(directory / "journal.db"))


def _kill_when_it_works(engine: int, directory: Path, url: str, draw: random.Random) -> None:
    before, until = stats(url)["calls"], time.monotonic() + 120
    while _lives(engine) and stats(url)["calls"] == before:
        assert time.monotonic() < until, (directory / "engine.log").read_text()[-2000:]
        time.sleep(0.02)
    time.sleep(draw.random() * 0.1)
    if _lives(engine):
        os.kill(engine, 9)
        while _lives(engine):
            time.sleep(0.01)


def _lives(engine: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        return b") Z" not in Path(f"/proc/{engine}/stat").read_bytes()
    except OSError:
        return False
