"""A run that is carried on by several jobs of a CI system, each on a fresh machine, ends as if one had done it all."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.domain.event.landing import LandingFinished
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.hops import Ci, CiJob
from tests.running.killing import Start, landed_more_than_once, moments, processes_about, terminal, unsettled
from tests.running.projects import git, tree_at
from tests.running.stories import goal, migration

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

SAVING = ("--save-every", "1s", "--stale-after", "2s")


def words_of(start: Start) -> list[str]:
    """A story's words as a job says them."""
    return ["--recipe", start.words[2]] if start.words[0] == "migrate" else list(start.words[1:])


def calm(start: Start) -> tuple[dict[str, object], str, float]:
    """How the story ends when nothing happens: the result, the tree, and the seconds that it took."""
    done, took_s = start.to_the_end()
    result = json.loads(done.out)
    return terminal(result), tree_at(start.cwd / "repo", result["pr_branch"]), took_s


def ended(job: CiJob) -> dict[str, object]:
    """The result of the job that came to the end."""
    result: dict[str, object] = json.loads(job.run("--json", *SAVING).out)
    return result


@pytest.mark.parametrize("story", [goal, pytest.param(migration, marks=pytest.mark.extended)])
def test_a_run_that_is_killed_on_three_machines_lands_the_same_tree_and_nothing_twice(
    story: Callable[[Path], Start], tmp_path: Path
) -> None:
    (tmp_path / "calm").mkdir()
    start = story(tmp_path / "calm")
    wanted = calm(start)
    ci = Ci.of(start.cwd / "repo", tmp_path / "ci", [*words_of(start), "--key", "issue-12"])
    seed = random.randrange(10**6)
    for seconds in moments(3, wanted[2] + 2, seed):
        ci.job().kill_after(seconds, *SAVING)
        ci.expire(SAVING[3])
    told = ended(ci.job())
    result = told["result"]
    assert isinstance(result, dict), (seed, told)
    assert (terminal(result), tree_at(ci.remote, result["pr_branch"])) == wanted[:2], seed
    assert landed_more_than_once(Path(result["journal"])) == [], seed
    assert unsettled(Path(result["journal"])) == [], seed
    assert told["hop"] in range(1, 5) and told["prs"], seed  # a job that died before it had the key does not count
    assert processes_about(ci.place) == []
    git(ci.remote, "fsck", "--strict")


def test_a_migration_goes_on_over_jobs_whose_time_is_too_short_for_it(tmp_path: Path) -> None:
    (tmp_path / "calm").mkdir()
    start = migration(tmp_path / "calm")
    wanted = calm(start)
    ci = Ci.of(start.cwd / "repo", tmp_path / "ci", [*words_of(start), "--key", "weekly"])
    job, limit_s = ci.job(), max(1, int(wanted[2] / 4))
    while (done := job.run("--json", "--time-limit", f"{limit_s}s", *SAVING)).code == 5:
        assert job.outputs["resumable"] == "true", done.err
        assert len(ci.jobs) < 12, done.err
        job = ci.job()
    told = json.loads(done.out)
    assert (terminal(told["result"]), tree_at(ci.remote, told["result"]["pr_branch"])) == wanted[:2]
    assert len(ci.jobs) > 1
    assert job.outputs["hop"] == str(len(ci.jobs))
    journal = Path(told["result"]["journal"])
    landings = [one.event for one in read_all_events(journal) if isinstance(one.event, LandingFinished)]
    assert len({unit for landing in landings for unit in landing.units}) == sum(len(one.units) for one in landings)
