"""A repository that was moved or renamed: its runs are named with the way on, go on by it, and are no other one's."""

import re
import shutil

import pytest
from anyio import run_process

from orchestrator.app.run_execution import RunExit
from orchestrator.errors import UsageProblem
from tests.running.cli import Finished, environment
from tests.running.goals import TWO, Bench
from tests.running.in_process import orchestrate
from tests.running.projects import git

pytestmark = pytest.mark.sandbox


@pytest.fixture
async def stopped(bench: Bench) -> RunExit:
    """A run of two tasks that stopped when the first had landed."""
    ended = await bench.run(*TWO, budget={"calls": 5})
    assert ended.exit_code == 5
    return ended


def say(bench: Bench, *words: str) -> Finished:
    where = ("--repo", bench.repository, "--state", bench.root / "state")
    return orchestrate(*words, *where, cwd=bench.root, env=environment(bench.root))


async def test_a_resume_in_a_moved_repository_says_where_the_runs_lie_and_what_to_type(
    bench: Bench, stopped: RunExit
) -> None:
    old, new = bench.repository, bench.root / "renamed"
    old.rename(new)
    moved = Bench(bench.root, new)
    with pytest.raises(UsageProblem, match=f"this repository was at {old} before, and its runs lie where they") as told:
        await moved.resume(*TWO, budget={"calls": 50})
    command = re.search("to go on, (.*)", str(told.value))
    assert command
    await run_process(command[1])
    shutil.rmtree(stopped.directory.path.parents[1])
    ended = await moved.resume(*TWO, budget={"calls": 50})
    assert (ended.exit_code, len(ended.state.landed_units), ended.state.run.repository) == (0, 2, str(new))
    assert git(new, "fsck", "--full", "--no-dangling") == ""
    assert git(new, "worktree", "list").count("state/repo-") == 0


async def test_status_logs_and_a_run_named_by_its_id_say_so_as_well(bench: Bench, stopped: RunExit) -> None:
    old, new = bench.repository, bench.root / "renamed"
    old.rename(new)
    moved = Bench(bench.root, new)
    for words in (("status",), ("logs",), ("logs", stopped.directory.run)):
        done = say(moved, *words)
        assert (done.code, f"this repository was at {old} before" in done.err) == (2, True), done.err


async def test_a_copy_or_a_clone_of_a_repository_that_is_still_there_is_another_one(
    bench: Bench, stopped: RunExit
) -> None:
    copy, clone = bench.root / "copy", bench.root / "clone"
    shutil.copytree(bench.repository, copy, symlinks=True)
    git(bench.root, "clone", "-q", str(bench.repository), str(clone))
    for other in (copy, clone):
        told = say(Bench(bench.root, other), "status").err
        assert "no run of this repository is known" in told
        assert "before, and its runs" not in told
    shutil.rmtree(bench.repository)
    assert "before, and its runs" not in say(Bench(bench.root, clone), "status").err
