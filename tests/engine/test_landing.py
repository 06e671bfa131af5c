"""What lands, and what people do to the PR branch meanwhile."""

from typing import Any

import pytest

from orchestrator.demo.runs import hash_checkout
from orchestrator.domain.event import Event
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import PersonNeeded
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.goals import TWO, Bench, When, one, status
from tests.running.projects import commit, git, refs
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

pytestmark = pytest.mark.sandbox


async def test_one_task_lands_and_the_checkout_stays_as_it_was(bench: Bench) -> None:
    before, refs_before = hash_checkout(bench.repository), refs(bench.repository)
    ended = await bench.run(
        plans("root", {"key": "triple"}),
        writes("triple", "triple.py", "def triple(a):\n    return 3 * a\n"),
        worker_ends("triple"),
        reviews("triple"),
        planner_ends(),
        judges(),
    )
    assert (ended.exit_code, status(ended, "triple")) == (0, TaskStatus.MERGED)
    assert git(bench.repository, "show", f"{ended.state.run.branch}:triple.py").startswith("def triple")
    assert hash_checkout(bench.repository) == before
    new = set(refs(bench.repository)) - set(refs_before)
    assert all(ref.startswith("refs/orchestrate/") for ref in new - {f"refs/heads/{ended.state.run.branch}"})
    assert {ref: refs(bench.repository)[ref] for ref in refs_before} == refs_before


async def test_what_lands_is_the_tree_of_a_green_receipt(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "one"}, {"key": "two"}),
        writes("one", "one.py", "x = 1\n"),
        worker_ends("one"),
        reviews("one"),
        writes("two", "two.py", "x = 2\n"),
        worker_ends("two"),
        reviews("two"),
        planner_ends(),
        judges(),
    )
    green = {receipt.tree for receipt in ended.state.receipts.values() if receipt.exit_code == 0}
    assert {landing.tree for landing in ended.state.landings} <= green
    tip = git(bench.repository, "rev-parse", f"{ended.state.run.branch}^{{tree}}")
    assert tip == ended.state.landings[-1].tree


async def test_a_pr_branch_that_is_checked_out_is_never_moved_under_the_persons_feet(bench: Bench) -> None:
    place = bench.root / "look"

    def look(event: Any) -> None:
        git(bench.repository, "worktree", "add", "-q", str(place), event.branch)

    ended = await bench.run(*TWO, when=When("landing.finished", look))
    assert ended.exit_code == 6
    assert f"is checked out in {place}" in str(ended.error)
    assert [key for key in ended.state.open_intents if key.startswith("land/")] == []
    assert not (place / "b.txt").exists()
    git(bench.repository, "worktree", "remove", str(place))
    again = await bench.resume(*TWO)
    assert (again.exit_code, status(again, "b")) == (0, TaskStatus.MERGED)


async def test_a_pr_branch_that_somebody_deleted_is_asked_back_before_anything_lands_beside_it(bench: Bench) -> None:
    def delete(event: Any) -> None:
        git(bench.repository, "branch", "-qD", event.branch)

    ended = await bench.run(*TWO, when=When("landing.finished", delete))
    assert ended.exit_code == 6
    assert f"git branch --force {ended.state.run.branch} {ended.state.head}" in str(ended.error)
    git(bench.repository, "branch", "--force", ended.state.run.branch, str(ended.state.head))
    again = await bench.resume(*TWO)
    assert again.exit_code == 0
    files = git(bench.repository, "ls-tree", "--name-only", again.state.run.branch).splitlines()
    assert {"a.txt", "b.txt"} <= set(files)


async def test_what_a_person_commits_on_the_pr_branch_meanwhile_is_built_on(bench: Bench) -> None:
    def commit_by_hand(event: Any) -> None:
        mine = git(bench.repository, "commit-tree", f"{event.new}^{{tree}}", "-p", event.new, "-m", "by hand")
        git(bench.repository, "update-ref", f"refs/heads/{event.branch}", mine)

    ended = await bench.run(*TWO, when=When("landing.finished", commit_by_hand))
    assert ended.exit_code == 0
    assert "by hand" in git(bench.repository, "log", "--format=%s", ended.state.run.branch).splitlines()


async def test_a_landing_that_loses_the_race_for_the_branch_is_judged_again_on_top_of_the_winner(bench: Bench) -> None:
    def overtake(event: Any) -> None:
        mine = commit(bench.repository, "main", "mine.txt", "mine\n")
        git(bench.repository, "update-ref", f"refs/heads/{event.branch}", mine)

    ended = await bench.run(*one("a"), when=When("landing.started", overtake))
    files = git(bench.repository, "ls-tree", "--name-only", ended.state.run.branch).splitlines()
    assert (ended.exit_code, {"a.txt", "mine.txt"} <= set(files)) == (0, True)
    assert [landing.units for landing in ended.state.landings] == [("a@1",)]


@pytest.mark.parametrize("kind", ["landing.finished", "iteration.judged"])
async def test_a_red_commit_of_a_person_on_the_pr_branch_stops_the_run_and_is_no_tasks_fault(
    bench: Bench, kind: str
) -> None:
    def spoil(event: Event) -> None:
        branch = git(bench.repository, "for-each-ref", "--format=%(refname)", "refs/heads/orchestrate/")
        git(
            bench.repository,
            "update-ref",
            branch,
            commit(bench.repository, branch, "calc.py", "def add(a, b):\n    return 0\n"),
        )

    ended = await bench.run(*TWO, when=When(kind, spoil))
    assert isinstance(ended.error, PersonNeeded)
    assert "which is red ((collection) test_calc" in str(ended.error)
    assert not ended.state.ejections
    assert ended.state.pr is None
    git(bench.repository, "branch", "--force", ended.state.run.branch, str(ended.state.head))
    assert (await bench.resume(*TWO)).exit_code == 0


async def test_a_pr_branch_that_appears_on_other_history_is_not_landed_on(bench: Bench) -> None:
    def occupy(event: Event) -> None:
        branch = fold_events(read_all_events(next(bench.root.glob("state/*/runs/*/journal.db")))).run.branch
        git(
            bench.repository,
            "branch",
            branch,
            git(bench.repository, "commit-tree", "HEAD^{tree}", "-m", "other history"),
        )

    ended = await bench.run(*TWO, when=When("candidate.taken", occupy))
    assert isinstance(ended.error, PersonNeeded)
    assert f"git branch --force {ended.state.run.branch} {ended.state.run.base}" in str(ended.error)
    git(bench.repository, "branch", "--delete", "--force", ended.state.run.branch)
    assert (await bench.resume(*TWO)).exit_code == 0
