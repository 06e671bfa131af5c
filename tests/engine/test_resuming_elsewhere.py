"""Killed on one machine, moved, and resumed in another clone at another path, a run ends as if nothing had been."""

import shutil
from pathlib import Path

import pytest

from tests.running.cli import environment, orchestrate
from tests.running.killing import Start, as_json, die, landed_more_than_once, processes_about, terminal, unsettled
from tests.running.projects import git, tree_at
from tests.running.stories import goal, migration

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(480)]

STORIES = {"goal": goal, "migration": migration}
MOMENTS = {"goal": ("tool.before-done:3", "landing.before-done"), "migration": ("step.before-done",)}


@pytest.mark.parametrize("story", ["goal", pytest.param("migration", marks=pytest.mark.extended)])
def test_a_run_that_is_killed_here_ends_the_same_in_another_clone(story: str, tmp_path: Path) -> None:
    calm = _started(story, tmp_path / "calm")
    result = as_json(calm.to_the_end()[0])
    wanted = terminal(result), tree_at(calm.cwd / "repo", result["pr_branch"])
    for number, moment in enumerate(MOMENTS[story]):
        start = _started(story, tmp_path / f"old-{number}")
        die(start, moment, start.words)
        there = _moved(start, tmp_path / f"new-{number}" / "another place")
        result = as_json(there.resume())
        assert (terminal(result), tree_at(there.cwd / "clone", result["pr_branch"])) == wanted, f"killed at {moment}"
        assert landed_more_than_once(Path(result["journal"])) == []
        assert unsettled(Path(result["journal"])) == []
        assert processes_about(there.cwd) == []
        git(there.cwd / "clone", "fsck", "--strict")


def _started(story: str, place: Path) -> Start:
    place.mkdir()
    return STORIES[story](place)


def _moved(start: Start, place: Path) -> Start:
    """Export, import into a clone that has nothing but the base, and take everything old away."""
    place.mkdir(parents=True)
    old, archive = start.cwd, place / "run.tar.gz"
    sent = orchestrate("run", "export", "latest", archive, *start.where, cwd=old, env=start.env)
    assert sent.code == 0, sent.err
    git(old, "clone", "-q", "--single-branch", "-b", "main", (old / "repo").as_uri(), str(place / "clone"))
    settings: list[str] = []
    if (old / "script.json").exists():
        shutil.copy(old / "script.json", place / "script.json")
        for role in ("planner", "worker", "judge"):
            settings += ["--set", f"roles.{role}.model=scripted:{place / 'script.json'}"]
    old.rename(old.with_name(f"{old.name}-gone"))
    where = ("--repo", str(place / "clone"), "--state", str(place / "state"))
    taken = orchestrate("run", "import", archive, *where, cwd=place, env=environment(place))
    assert taken.code == 0, taken.err
    return Start(start.words, (*where, *settings), place, environment(place))
