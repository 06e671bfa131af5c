"""`kill -9` in the middle of a step: what was done is not done again, by any later run either."""

import json
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.domain.event.migration import FileMoved
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import environment, orchestrate
from tests.running.killing import Start, as_json, kill_after
from tests.running.projects import repository

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

RECIPE = """schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[[step]]
id = "new"
run = "sleep 0.3; sed -i s/old/new/ {files}; test {files} != f07.txt"
[[step]]
id = "mark"
run = "sleep 0.1; sed -i s/^/:/ {files}"
[verify]
report = "exit-code"
[[verify.check]]
id = "t"
run = "true"
"""


def keys(journals: list[Path]) -> Counter[str]:
    """How often a step was run for each cache key."""
    events = [recorded.event for journal in journals for recorded in read_all_events(journal)]
    return Counter(event.cache_key for event in events if isinstance(event, FileMoved) and not event.is_cached)


def test_no_step_runs_twice_for_one_cache_key_whenever_it_is_killed(tmp_path: Path) -> None:
    repository(tmp_path / "repo", {f"f{number:02}.txt": "old\n" for number in range(24)})
    (tmp_path / "recipe.toml").write_text(RECIPE)
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    start = Start(("migrate", "run", str(tmp_path / "recipe.toml")), where, tmp_path, environment(tmp_path))
    again = Start(("resume",), where, tmp_path, environment(tmp_path))
    assert kill_after(start, 3.5)
    kill_after(again, 3.0)
    result = as_json(start.resume())
    assert (result["outcome"], len(result["files"]["landed"])) == ("partial", 23)
    told = orchestrate(*start.words, *where, "--json", cwd=tmp_path, env=start.env)
    second = json.loads(told.out)
    assert second["files"] == result["files"]
    times = keys([Path(result["journal"]), Path(second["journal"])])
    del times[""]
    assert set(times.values()) == {1}
    assert len(times) == 24 + 23


def test_a_command_over_the_whole_tree_that_is_killed_runs_again_and_once_it_is_through_no_more(tmp_path: Path) -> None:
    repository(tmp_path / "repo", {f"f{number:02}.txt": "old\n" for number in range(24)})
    head, rest = RECIPE.partition("[[step]]")[0], RECIPE.partition("[verify]")[2]
    step = '[[step]]\nid = "new"\nper = "tree"\nrun = "sed -i s/old/new/ *.txt; sleep 4"\n'
    (tmp_path / "recipe.toml").write_text(f"{head}{step}[verify]{rest}")
    where = ("--repo", str(tmp_path / "repo"), "--state", str(tmp_path / "state"))
    start = Start(("migrate", "run", str(tmp_path / "recipe.toml")), where, tmp_path, environment(tmp_path))
    assert kill_after(start, 4.0)
    result = as_json(start.resume())
    assert (result["outcome"], len(result["files"]["landed"])) == ("done", 24)
    second = json.loads(orchestrate(*start.words, *where, "--json", cwd=tmp_path, env=start.env).out)
    assert second["files"] == result["files"]
    times = keys([Path(result["journal"]), Path(second["journal"])])
    del times[""]
    assert Counter(times.values()) == {1: 24}
