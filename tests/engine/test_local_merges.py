"""A goal's pull request of this repository is merged where that is asked for: green, forward, and past no checkout."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TreeId
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, When, one
from tests.running.projects import commit, git, tree_at

pytestmark = pytest.mark.sandbox

MERGE = {"merge": "when-green", "target": "release"}


@pytest.fixture
def release(bench: Bench) -> Bench:
    """A bench whose repository has a branch to merge into, which nobody has checked out."""
    git(bench.repository, "branch", "release")
    return bench


def commit_there(bench: Bench, path: str, text: str) -> str:
    """Commit on the target as somebody else would."""
    made = commit(bench.repository, "release", path, text)
    git(bench.repository, "update-ref", "refs/heads/release", made)
    return made


def release_tip(bench: Bench) -> str:
    return git(bench.repository, "rev-parse", "release")


def words(ended: RunExit) -> str:
    return to_one_line(str(ended.error))


async def test_a_target_that_stands_where_the_run_began_is_moved_forward_to_what_landed(release: Bench) -> None:
    head = git(release.repository, "rev-parse", "HEAD")
    ended = await release.run(*one("a"), pr=MERGE)
    assert ended.exit_code == 0, ended.error
    assert release_tip(release) == ended.state.head
    assert git(release.repository, "rev-parse", "main") == head
    result = build_run_result(ended.state, Path("journal.db"))
    assert result.merged is not None
    assert (result.merged.target, result.merge_by) == (ended.state.head, "")
    assert "merged: release of this repository stands at" in "\n".join(render_summary_lines(ended.state))


async def test_on_a_target_that_moved_meanwhile_both_are_merged_and_that_tree_is_judged_first(release: Bench) -> None:
    hand = When("landing.finished", lambda _: commit_there(release, "other.txt", "other\n"))
    ended = await release.run(*one("a"), when=hand, pr=MERGE, commits={"co_author": "Ada <ada@example.invalid>"})
    assert ended.exit_code == 0, ended.error
    tip = release_tip(release)
    assert {"a.txt", "other.txt"} <= set(git(release.repository, "ls-tree", "--name-only", tip).split())
    assert git(release.repository, "rev-parse", f"{tip}^2") == ended.state.head
    tree = TreeId(tree_at(release.repository, tip))
    (receipt,) = ended.state.list_receipts_on(tree)
    assert receipt.exit_code == 0
    message = git(release.repository, "log", "-1", "--format=%B", tip)
    assert message.startswith(f"Merge {ended.state.run.branch} into release\n\nmake it better\n\nOrchestrate-Run: ")
    assert message.endswith("Co-authored-by: Ada <ada@example.invalid>")


async def test_a_target_that_moves_between_the_judgement_and_the_merge_is_merged_with_again(release: Bench) -> None:
    hand = When("merge.started", lambda _: commit_there(release, "late.txt", "late\n"))
    ended = await release.run(*one("a"), when=hand, pr=MERGE)
    assert ended.exit_code == 0, ended.error
    assert {"a.txt", "late.txt"} <= set(git(release.repository, "ls-tree", "--name-only", "release").split())


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.txt", "mine\n", "it conflicts with what release holds meanwhile .* in a.txt"),
        ("test_more.py", "import unittest\nraise SystemExit(1)\n", "together with what release holds .* it is red"),
    ],
)
async def test_a_conflict_or_a_red_merge_leaves_the_pull_request_open_and_a_person_is_told(
    release: Bench, path: str, text: str, said: str
) -> None:
    hand = When("landing.finished", lambda _: commit_there(release, path, text))
    ended = await release.run(*one("a"), when=hand, pr=MERGE)
    assert (ended.exit_code, ended.state.merged) == (6, None)
    assert re.search(said, words(ended))
    assert git(release.repository, "show", f"release:{path}") == text.strip()
    assert ended.state.pr is not None
    resumed = await release.resume(pr={"merge": "never"})
    assert (resumed.exit_code, resumed.state.merged) == (0, None)


async def test_a_target_that_is_checked_out_is_not_moved_until_it_no_longer_is(release: Bench) -> None:
    git(release.repository, "switch", "-q", "release")
    (release.repository / "mine.txt").write_text("not committed\n")
    before = release_tip(release)
    ended = await release.run(*one("a"), pr=MERGE)
    assert (ended.exit_code, release_tip(release)) == (6, before)
    assert f"release is checked out in {release.repository}" in words(ended)
    assert "git switch --detach" in words(ended)
    git(release.repository, "switch", "-q", "--detach")
    resumed = await release.resume()
    assert resumed.exit_code == 0, resumed.error
    assert release_tip(release) == resumed.state.head
    assert (release.repository / "mine.txt").read_text() == "not committed\n"


async def test_a_target_that_is_being_rebased_is_left_alone(release: Bench) -> None:
    beside = release.root / "beside"
    git(release.repository, "worktree", "add", "-q", str(beside), "release")
    with pytest.raises(subprocess.CalledProcessError):
        git(beside, "rebase", "-q", "--exec", "false", "--root")
    assert git(beside, "branch", "--show-current") == ""
    ended = await release.run(*one("a"), pr=MERGE)
    assert ended.exit_code == 6
    assert f"release is checked out in {beside}" in words(ended)


async def test_what_a_person_merged_meanwhile_is_merged(release: Bench) -> None:
    git(release.repository, "switch", "-q", "release")
    ended = await release.run(*one("a"), pr=MERGE)
    assert ended.exit_code == 6
    git(release.repository, "merge", "-q", "--no-ff", ended.state.run.branch)
    resumed = await release.resume()
    assert resumed.exit_code == 0, resumed.error
    assert resumed.state.merged is not None
    assert resumed.state.merged.new == release_tip(release)


async def test_a_target_that_does_not_hold_what_the_run_began_from_is_left_alone(release: Bench) -> None:
    def begin_anew(_: Any) -> None:
        tree = tree_at(release.repository, "main")
        git(
            release.repository,
            "update-ref",
            "refs/heads/release",
            git(release.repository, "commit-tree", tree, "-m", "x"),
        )

    ended = await release.run(*one("a"), when=When("landing.finished", begin_anew), pr=MERGE)
    assert (ended.exit_code, ended.state.merged) == (6, None)
    assert "from which the run began" in words(ended)


@pytest.mark.extended
async def test_a_replay_of_a_merged_run_is_the_same_and_merges_nothing(release: Bench) -> None:
    ended = await release.run(*one("a"), pr=MERGE)
    tip = commit_there(release, "later.txt", "later\n")
    options = Options(release.repository, {"state": {"dir": str(release.root / "state")}})
    report = await replay_run(options, ended.state.run.run, ReplayOptions())
    assert report.divergences == ()
    assert (report.is_same, report.replayed_outcome, release_tip(release)) == (True, "done", tip)
