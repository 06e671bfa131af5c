"""`kill -9` again and again in a migration with guilty files: the same files land, and no step's work is lost."""

import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.fold.projection import fold_events
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import environment
from tests.running.killing import Start, as_json, kill_after, landed_more_than_once, processes_about, terminal
from tests.running.package import guilty, package
from tests.running.projects import tree_at

KILLS = int(os.environ.get("MIGRATION_KILLS", "20"))
SLOTS, WORKSPACES, AT_ONCE = 2, 4, 64
"""So many commands run at most, in so many workspaces, and so many files at most are with one at a time."""

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

RECIPE = """schema = 1
[migration]
id = "words"
[scope]
include = ["pkg/m*.py"]
[env]
read_only = ["{pipe.parent}"]
[sample]
first = 1000
[[step]]
id = "codemod"
run = "echo {{files}} >{pipe}; sed -i 's/old/new/; s/))/)/' {{files}}"
must_parse = false
[verify]
report = "unittest"
[[verify.check]]
id = "tests"
run = "python3 -m unittest {{tests}} -v"
all = "discover -s tests -t ."
timeout_s = 6
"""


@dataclass(frozen=True)
class Pipe:
    """Where steps say on which file they work. A pipe takes that from a sandbox to which all else is read-only."""

    path: Path
    end: int


@pytest.mark.timeout(900)
def test_a_migration_that_is_killed_three_times_lands_the_same_files_and_repeats_no_step(tmp_path: Path) -> None:
    _check(tmp_path, modules=120, kills=3)


@pytest.mark.extended
@pytest.mark.timeout(3600)
def test_twenty_kills_in_six_hundred_files_with_six_kinds_of_guilty(tmp_path: Path) -> None:
    _check(tmp_path, modules=600, kills=KILLS)


def _check(place: Path, modules: int, kills: int) -> None:
    with _pipe() as pipe:
        calm = _start(place / "calm", modules, pipe)
        done, duration_s = calm.to_the_end()
        wanted = _ended(calm, as_json(done), modules)
        assert wanted["rejected"] == sorted(guilty(modules))
        assert _executions(pipe) == modules
        draw, left = random.Random(11), kills
        while left:
            start = _start(place / f"with-{left}-left", modules, pipe)
            died = _kill_until_it_ends(start, draw, left, duration_s)
            assert _ended(start, as_json(start.resume()), modules) == wanted, f"killed {died} times"
            assert modules <= _executions(pipe) <= modules + died * WORKSPACES * AT_ONCE
            assert processes_about(start.cwd) == []
            left -= died


def _start(place: Path, modules: int, pipe: Pipe) -> Start:
    place.mkdir()
    package(place / "repo", modules)
    (place / "recipe.toml").write_text(RECIPE.format(pipe=pipe.path))
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    words = ("migrate", "run", str(place / "recipe.toml"), "--set", f"hands.slots={SLOTS}")
    return Start(words, where, place, environment(place))


def _kill_until_it_ends(start: Start, draw: random.Random, most: int, duration_s: float) -> int:
    """Kill the run and what resumes it at random moments; how often it was there to be killed."""
    process, died = start, 0
    while died < most and kill_after(process, draw.uniform(0.3, duration_s / 3)):
        process, died = replace(start, words=("resume",)), died + 1
        if not list(start.cwd.glob("state/*/runs/*/journal.db")):
            process = start
    return died


def _ended(start: Start, result: dict[str, Any], modules: int) -> dict[str, Any]:
    """What must be the same however often the run was killed; nothing in its journal was done twice."""
    journal = Path(result["journal"])
    events = [recorded.event for recorded in read_all_events(journal)]
    moves = [event for event in events if isinstance(event, FileMoved) and event.cache_key]
    assert Counter(move.cache_key for move in moves if not move.is_cached).most_common(1)[0][1] == 1
    assert len(moves) == modules
    assert landed_more_than_once(journal) == []
    assert fold_events(read_all_events(journal)).open_intents == {}
    return terminal(result) | {"tree": tree_at(start.cwd / "repo", result["pr_branch"])}


@contextmanager
def _pipe() -> Iterator[Pipe]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "steps")
        os.mkfifo(path)
        path.chmod(0o666)
        path.parent.chmod(0o755)
        end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield Pipe(path, end)
        finally:
            os.close(end)


def _executions(pipe: Pipe) -> int:
    """How often a step has begun to work on a file since the last call."""
    said = b""
    with suppress(BlockingIOError):
        while part := os.read(pipe.end, 65536):
            said += part
    return len(said.splitlines())
