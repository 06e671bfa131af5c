"""Red unions of a migration: who is ejected with whom, in how narrow runs, and what a landing looks like in git."""

from collections.abc import Mapping
from math import log2
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.run import CheckFinished
from tests.running.goals import When
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.projects import commit, git

pytestmark = pytest.mark.sandbox

SPOIL = "case {files} in b/1.txt) sed -i s/old/wrong/ {files};; *) sed -i s/old/new/ {files};; esac"
"""A codemod whose result breaks the test of one file."""
TEST_SIDES = """import pathlib
import unittest


class SidesTest(unittest.TestCase):
    def test_one_side_at_least_is_old(self):
        self.assertIn("old", pathlib.Path("c/1.txt").read_text() + pathlib.Path("d/1.txt").read_text())"""
NARROW = {
    "report": "unittest",
    "coverage": False,
    "check": [{"id": "t", "run": "python3 -m unittest {tests} -v", "all": "discover"}],
}


@pytest.fixture
def four(tmp_path: Path) -> Migrated:
    """Four directories of two files with a site each, of which one of `c` and one of `d` cannot both change."""
    texts = {f"{name}/{number}.txt": "old" for name in "abcd" for number in (1, 2)}
    return Migrated(words(tmp_path / "repo", texts | {"test_sides.py": TEST_SIDES}))


def ejected(run: Migrated) -> Mapping[str, tuple[str, ...]]:
    """Path → partners, of those that were ejected."""
    return {event.unit: event.partners for event in run.events(UnitEjected)}


def at_once(*steps: dict[str, Any], **more: Any) -> Any:
    """A recipe whose shards all land together."""
    return recipe(*steps, sample={"first": 100}, **more)


@pytest.mark.extended
async def test_guilty_and_pairs_are_found_by_narrow_runs_and_what_lands_was_tested_as_a_whole(four: Migrated) -> None:
    await four.run(at_once({"run": SPOIL}, verify=NARROW))
    assert ejected(four) == {"b/1.txt": (), "c/1.txt": ("d/1.txt",), "d/1.txt": ("c/1.txt",)}
    receipts = [event.receipt for event in four.events(CheckFinished)]
    lines = {receipt.command for receipt in receipts}
    assert "python3 -m unittest test_sides.py -v" in lines
    (landing,) = four.events(LandingFinished)
    landed = {receipt.command for receipt in receipts if receipt.tree == landing.tree}
    assert "python3 -m unittest discover -v" in landed


@pytest.mark.extended
async def test_who_is_red_only_beside_what_landed_with_an_earlier_wave_is_named_with_it(four: Migrated) -> None:
    first = {"files": 3, "pick": "list", "paths": ["a/1.txt", "c/1.txt", "c/2.txt"]}
    await four.run(recipe({"run": SPOIL}, sample=first, verify=NARROW))
    assert ejected(four) == {"b/1.txt": (), "d/1.txt": ("c/1.txt",)}
    assert four.statuses()["c/1.txt"] == "merged"
    files = four.now.state.migration.files
    assert files["d/1.txt"].reason.endswith(", only together with c/1.txt (landed before)")
    assert "together" not in files["b/1.txt"].reason
    assert any(event.taken_back == 3 for event in four.events(TrialJudged)), "once without all that landed"


@pytest.mark.extended
async def test_a_pair_that_lands_together_is_named_as_one(four: Migrated) -> None:
    first = {"files": 3, "pick": "list", "paths": ["c/1.txt", "c/2.txt"]}
    paired = {"pair": ["c/1.txt -> c/2.txt"]}
    await four.run(recipe({"run": SED}, sample=first, shard=paired))
    assert ejected(four) == {"d/1.txt": ("c/1.txt", "c/2.txt")}


TEST_MARKS = """import pathlib
import unittest


class MarksTest(unittest.TestCase):
    def test_not_both(self):
        text = " ".join(path.read_text() for path in pathlib.Path(".").glob("*/*.txt"))
        self.assertFalse("new left" in text and "new right" in text)"""


@pytest.mark.extended
async def test_a_partner_that_nothing_points_at_is_found_among_many_that_landed(tmp_path: Path) -> None:
    marks = {("a", 17): "old left", ("b", 1): "old right"}
    texts = {f"{name}/{number:02}.txt": marks.get((name, number), "old") for name in "ab" for number in range(24)}
    run = Migrated(words(tmp_path / "repo", texts | {"test_marks.py": TEST_MARKS}))
    await run.run(recipe({"run": SED}, sample={"first": 2}, verify=NARROW))
    assert ejected(run) == {"b/01.txt": ("a/17.txt",)}
    assert sum(bool(event.taken_back) for event in run.events(TrialJudged)) <= 5 * log2(24)


@pytest.mark.extended
async def test_a_landing_has_a_commit_for_each_shard_with_its_files_alone_and_trailers(four: Migrated) -> None:
    await four.run(at_once({"run": SPOIL}))
    (landing,) = four.events(LandingFinished)
    assert [(part.name, part.units) for part in landing.parts] == [
        ("a", ("a/1.txt", "a/2.txt")),
        ("b", ("b/2.txt",)),
        ("c", ("c/2.txt",)),
        ("d", ("d/2.txt",)),
    ]
    run = four.now.state.run
    for part in landing.parts:
        assert git(four.root, "diff", "--name-only", f"{part.commit}~1", part.commit).split() == list(part.units)
        told = dict(
            line.split(": ", 1)
            for line in git(four.root, "log", "-1", "--format=%(trailers:only)", part.commit).splitlines()
            if line
        )
        assert (told["Shard"], told["Rung"], told["Migration-Id"]) == (part.name, "step-0", "words")
        assert (told["Orchestrate-Run"], bool(told["Recipe-Rev"])) == (run.run, True)
    assert landing.parts[-1].commit == landing.new == git(four.root, "rev-parse", run.branch)


@pytest.mark.parametrize(
    ("how", "guilty"),
    [
        ({"merge": {"bisect_unit": "shard"}}, {"b/1.txt", "b/2.txt", "c/1.txt", "c/2.txt", "d/1.txt", "d/2.txt"}),
        ({"shard": {"pair": ["b/1.txt -> a/1.txt"]}}, {"b/1.txt", "a/1.txt", "c/1.txt", "d/1.txt"}),
    ],
)
async def test_what_belongs_together_lands_or_is_ejected_together(
    four: Migrated, how: dict[str, Any], guilty: set[str]
) -> None:
    await four.run(at_once({"run": SPOIL}, **how))
    assert set(ejected(four)) == guilty
    assert {path for path, status in four.statuses().items() if status == "merged"} == set(four.statuses()) - guilty


@pytest.mark.extended
async def test_a_file_that_somebody_changes_on_the_pr_branch_is_left_to_them_and_the_rest_lands(four: Migrated) -> None:
    def by_hand(event: Any) -> None:
        first = commit(four.root, event.new, "b/1.txt", "my old\n")
        second = commit(four.root, first, "b/2.txt", "mine\n")
        git(four.root, "update-ref", f"refs/heads/{event.branch}", second)

    given = recipe({"run": SED}, sample={"first": 1, "growth": 100})
    four.ended = await run_migration(four.options(), given, When("landing.finished", by_hand))
    assert four.statuses()["b/1.txt"] != "merged"
    assert "somebody changed it on the PR branch meanwhile" in four.now.state.migration.files["b/1.txt"].reason
    assert (four.text("b/1.txt"), four.text("b/2.txt")) == ("my old", "mine")
    assert {four.statuses()[path] for path in ("a/1.txt", "b/2.txt", "c/2.txt", "d/2.txt")} == {"merged"}
