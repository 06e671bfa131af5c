"""Killed with SIGKILL at named points around effects, and resumed, a run ends as if nothing had been."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.demo.runs import hash_checkout
from orchestrator.domain.ids import TaskId
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from tests.running import stories
from tests.running.cli import orchestrate
from tests.running.killing import (
    Start,
    as_json,
    die,
    landed_more_than_once,
    passed,
    processes_about,
    terminal,
    unsettled,
)
from tests.running.projects import git, refs, tree_at
from tests.running.scripts import reviews, worker_ends, writes
from tests.running.stories import goal

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

Story = Callable[[Path], Start]
Deaths = Sequence[Sequence[str]] | Callable[[Path], Sequence[Sequence[str]]]
"""The moments of each death, perhaps by the journal of a run that nobody killed."""
JUDGEMENTS = {
    *("rival.chosen", "lens.voted", "verdict.given", "iteration.judged", "rollback.refused", "shard.reverted"),
    *("verification.tried", "verification.ended", "verification.contested", "verification.contest-decided"),
}
SOME = {
    goal: (
        *("snapshot.before-done", "candidate.before-done:2", "check.after-intent:2"),
        *("landing.before-done", "pr.before-done"),
    ),
    stories.restarted: ("rewind.before-done", "rewind.after-intent"),
    stories.merged: ("merge.before-done", "merge.after-intent"),
    stories.clashing: ("ref.after-intent:2", "ref.after-done:2"),
    stories.rivals: ("model.after-intent:8", "model.before-done:8"),
    stories.verified: ("check.before-done:2", "tool.before-done:2", "candidate.before-done:3"),
    stories.migration: ("step.before-done", "landing.after-intent"),
    stories.tail: ("snapshot.before-done", "candidate.before-done:2"),
    stories.shards: ("landing.before-done", "landing.after-done"),
    stories.groups: ("landing.before-done",),
}
ONE_AFTER_THE_OTHER = {
    stories.groups_taken_back: ("landing.before-done", "pr.before-done:2"),
    stories.worlds: ("setup.before-keep:2",),
}
EVERY = ("landing", "ref", "push", "pr", "setup", "inbox")
"""Effects around which a migration dies each time that they happen, and not only the first."""
ALL = {
    stories.goal_of_eight: (),
    stories.restarted: ("ref", "landing"),
    stories.merged: ("merge",),
    stories.verified: ("check", "tool", "model"),
    stories.migration: (),
    stories.tail: (),
    stories.taking_back: EVERY,
    stories.groups: (),
    stories.groups_taken_back: EVERY,
    stories.worlds: EVERY,
}
"""Story → effects around which it dies each time; around others the first time only."""


@pytest.mark.parametrize("story", SOME)
def test_a_run_killed_around_an_effect_and_again_while_resuming_ends_the_same(story: Story, tmp_path: Path) -> None:
    _check(story, [(moment, "recovery.after") for moment in SOME[story]], tmp_path)


@pytest.mark.parametrize("story", ONE_AFTER_THE_OTHER)
def test_a_migration_killed_again_and_again_ends_the_same(story: Story, tmp_path: Path) -> None:
    _check(story, [ONE_AFTER_THE_OTHER[story]], tmp_path)


@pytest.mark.extended
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("story", ALL)
def test_a_run_killed_at_any_point_and_again_while_resuming_ends_the_same(story: Story, tmp_path: Path) -> None:
    def points(calm: Path) -> list[tuple[str, ...]]:
        found = [(point, "recovery.after") for point in _points(passed(calm), ALL[story])]
        assert len(found) >= 20
        return found

    _check(story, points, tmp_path)


def _points(times: Counter[str], every: Sequence[str]) -> Iterator[str]:
    """The points at which to die: `NAME` for the first time, `NAME:2` for the second."""
    for name, count in times.items():
        last = count if name.partition(".")[0] in every else min(count, 1)
        yield from (f"{name}:{number}" for number in range(1, last + 1))


def test_a_command_that_is_being_taken_at_a_kill_is_taken_once(tmp_path: Path) -> None:
    start = goal(tmp_path)
    asked = orchestrate(*start.words, *start.where, "--approval", "pr", cwd=tmp_path, env=start.env)
    assert asked.code == 6
    answer = orchestrate("approve", "latest", "--no-wake", *start.where, cwd=tmp_path, env=start.env)
    assert "waits for the next engine" in answer.err
    for moment in ("inbox.before-record", "inbox.after-record"):
        assert die(start, moment, ("resume",))
    result = as_json(start.resume())
    kinds = Counter(one.event.kind for one in read_all_events(Path(result["journal"])))
    assert (result["outcome"], kinds["approval.decided"], kinds["pr.opened"]) == ("done", 1, 1)


def test_what_is_sent_back_reaches_the_worker_also_after_kills_on_the_way(tmp_path: Path) -> None:
    start = goal(tmp_path, corrections=(writes("sum", "why.txt", "why\n"), worker_ends("sum"), reviews("sum")))
    review = ("--approval", "review", "--set", 'approval.paths=["calc.py"]')
    assert orchestrate(*start.words, *start.where, *review, cwd=tmp_path, env=start.env).code == 6
    answer = orchestrate("send-back", "q1", "--note", "say why", "--no-wake", *start.where, cwd=tmp_path, env=start.env)
    assert answer.code == 0, answer.err
    for moment in ("inbox.after-record", "snapshot.before-done", "candidate.before-done"):
        assert die(start, moment, ("resume",)), moment
    assert start.resume().code == 6
    assert orchestrate("approve", "q2", "--no-wake", *start.where, cwd=tmp_path, env=start.env).code == 0
    result = as_json(start.resume())
    state = read_state(Path(result["journal"]))
    assert (result["outcome"], [one.mode for one in state.tasks[TaskId("sum")].attempts][-1]) == ("done", "sent-back")
    assert "why.txt" in git(tmp_path / "repo", "ls-tree", "--name-only", result["pr_branch"]).split()


def _check(story: Story, deaths: Deaths, root: Path) -> None:
    """The story is run from the same beginning again and again, once in peace; of a death each moment comes in turn."""
    place, beginning = root / "place", root / "beginning"
    place.mkdir()
    start = story(place)
    shutil.copytree(place, beginning, symlinks=True)
    wanted = outcome(start)
    journal = next(place.glob("state/*/runs/*/journal.db"))
    for number, moments in enumerate(deaths(journal) if callable(deaths) else deaths):
        place.rename(root / f"ended-{number}")
        shutil.copytree(beginning, place, symlinks=True)
        assert outcome(start, *moments) == wanted, f"killed at {', '.join(moments)}"
        assert processes_about(place) == []


def outcome(start: Start, *moments: str) -> dict[str, object]:
    """How a run ends that is killed at each of these moments in turn."""
    repository = start.cwd / "repo"
    before = hash_checkout(repository)
    for number, moment in enumerate(moments):
        is_dead = die(start, moment, start.words if number == 0 else ("resume",))
        assert is_dead or moment == "recovery.after", f"it did not come to {moment}"
    result = as_json(start.resume() if moments else start.to_the_end()[0])
    journal = Path(result["journal"])
    assert hash_checkout(repository) == before
    assert landed_more_than_once(journal) == []
    assert unsettled(journal) == []
    told = start.cwd / "sent"
    sent = [json.loads(line) for line in told.read_text().splitlines() if line] if told.exists() else []
    assert len({one["key"] for one in sent}) == len(sent), "nobody is notified twice of the same"
    state = read_state(journal)
    return terminal(result) | {
        "files": {path: (file.status, file.reason, file.landed) for path, file in state.migration.files.items()},
        "judgements": Counter(one.event.kind for one in read_all_events(journal) if one.event.kind in JUDGEMENTS),
        "wishes": (state.migration.requested_rollbacks, state.migration.requested_publications),
        **_left_in_git(start.cwd, result),
    }


def _left_in_git(place: Path, result: dict[str, Any]) -> dict[str, object]:
    """Every ref, and of branches and pull requests what they hold and how many commits it took."""
    repository, remote = place / "repo", place / "remote.git"
    known = {result["run"]: "RUN", result["pr_branch"]: "BRANCH"}
    shown = {
        _renamed(ref, known): (tree_at(repository, ref), git(repository, "rev-list", "--count", ref))
        for ref in refs(repository)
        if ref.startswith("refs/heads/")
    }
    trailers = "%(trailers:key=Shard,key=Reverts-Shard,separator=)"
    return {
        "refs": sorted(_renamed(ref, known) for ref in refs(repository) if "/wip/" not in ref),
        "branches": shown,
        "shards": git(repository, "log", f"--format={trailers}", result["pr_branch"]),
        "pull requests": [git(repository, "rev-list", "--count", ref) for ref in refs(repository) if "/prs/" in ref],
        "pushed": {_renamed(ref, known): tree_at(remote, ref) for ref in refs(remote)} if remote.exists() else {},
    }


def _renamed(ref: str, known: dict[str, str]) -> str:
    for name, word in sorted(known.items(), key=lambda pair: -len(pair[0])):
        ref = ref.replace(name, word)
    return ref
