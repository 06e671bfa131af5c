"""Refs: compare and swap, sweeping what killed processes left."""

from dataclasses import replace

import anyio
import pytest

from tests.unit.worktrees.conftest import Project
from worktrees.errors import GitError, LockedRepository, RefMoved
from worktrees.git import Git
from worktrees.object_store.merge import EPOCH_DATE, commit_tree, is_ancestor
from worktrees.object_store.trees import read_tree_id
from worktrees.ref_store.refs import delete_refs, list_refs, move_ref, read_ref, remove_dead_ref_locks, set_ref
from worktrees.repositories.repository import GitRepository

REF = "refs/heads/orchestrate/run-1"


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return repository.git


@pytest.fixture
async def commits(git: Git) -> list[str]:
    tree, made = await read_tree_id(git, "HEAD"), [await git.run_text("rev-parse", "HEAD")]
    for number in range(4):
        made.append(await commit_tree(git, tree, [made[-1]], f"commit {number}", EPOCH_DATE))
    return made


async def test_a_ref_is_created_moved_and_read(project: Project, git: Git, commits: list[str]) -> None:
    assert await read_ref(git, REF) is None

    await move_ref(git, REF, commits[1], None, "orchestrate: first")
    await move_ref(git, REF, commits[2], commits[1], "orchestrate: second")

    assert await read_ref(git, REF) == commits[2] == project.git("rev-parse", REF)
    assert project.git("reflog", "--format=%H %gs", REF).splitlines() == [
        f"{commits[2]} orchestrate: second",
        f"{commits[1]} orchestrate: first",
    ]


async def test_a_lost_compare_and_swap_says_where_the_ref_is(git: Git, commits: list[str]) -> None:
    with pytest.raises(RefMoved, match=f"expected at {commits[1]} but is at nothing"):
        await move_ref(git, REF, commits[2], commits[1], "x")

    await set_ref(git, REF, commits[1])

    with pytest.raises(RefMoved, match=f"expected at {commits[2]} but is at {commits[1]}"):
        await move_ref(git, REF, commits[3], commits[2], "x")
    with pytest.raises(RefMoved, match=f"expected at nothing but is at {commits[1]}"):
        await move_ref(git, REF, commits[3], None, "x")
    assert await read_ref(git, REF) == commits[1]


async def test_other_failures_are_not_taken_for_a_lost_race(project: Project, git: Git, commits: list[str]) -> None:
    await set_ref(git, REF, commits[1])
    with pytest.raises(GitError) as missing:
        await move_ref(git, REF, "0" * 39 + "1", commits[1], "x")
    with pytest.raises(GitError) as below:
        await move_ref(git, f"{REF}/below", commits[1], None, "x")
    (project.root / ".git" / f"{REF}.lock").touch()
    with pytest.raises(LockedRepository, match=rf"{REF}\.lock is in the way.* \(rm -- .*{REF}\.lock\)") as locked:
        await move_ref(replace(git, overrides=(("core.filesRefLockTimeout", "10"),)), REF, commits[2], commits[1], "x")

    assert [type(error.value) for error in (missing, below, locked)] == [GitError, GitError, LockedRepository]
    assert locked.value.lock == str(project.root / ".git" / f"{REF}.lock")


async def test_of_many_racers_exactly_one_wins(git: Git, commits: list[str]) -> None:
    await set_ref(git, REF, commits[0])
    outcomes: list[str] = []

    async def race(new: str) -> None:
        try:
            await move_ref(git, REF, new, commits[0], "race")
        except RefMoved:
            outcomes.append("lost")
        else:
            outcomes.append(new)

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(race, commits[1 + number % 4])

    winners = [outcome for outcome in outcomes if outcome != "lost"]
    assert (len(outcomes), winners) == (12, [await read_ref(git, REF)])


async def test_refs_are_listed_and_deleted_by_prefix(git: Git, commits: list[str]) -> None:
    mine = {f"refs/orchestrate/run/t{number}/1": commits[number] for number in range(3)}
    for ref, commit in {**mine, "refs/orchestrate/runner/x": commits[0], "refs/orchestrate/other": commits[0]}.items():
        await set_ref(git, ref, commit)

    assert await list_refs(git, "refs/orchestrate/run") == mine
    assert await list_refs(git, "refs/orchestrate/run/") == mine
    assert await list_refs(git, "refs/nothing") == {}

    await git.run("pack-refs", "--all")
    await delete_refs(git, [*mine, "refs/orchestrate/never-there"])
    await delete_refs(git, [])

    assert await list_refs(git, "refs/orchestrate") == {
        "refs/orchestrate/other": commits[0],
        "refs/orchestrate/runner/x": commits[0],
    }


@pytest.mark.parametrize("ref", ["HEAD", "main", "heads/main", "refs/../HEAD", "--help", ""])
async def test_only_full_names_are_refs(git: Git, ref: str) -> None:
    for use in (read_ref(git, ref), set_ref(git, ref, "HEAD"), delete_refs(git, [ref]), list_refs(git, ref)):
        with pytest.raises(GitError, match="no full ref name"):
            await use


async def test_stale_locks_below_our_own_prefixes_are_swept_and_no_others(
    project: Project, git: Git, commits: list[str]
) -> None:
    git_dir = project.root / ".git"
    await set_ref(git, REF, commits[0])
    await set_ref(git, "refs/orchestrate/run/t1", commits[0])
    locks = [f"{REF}.lock", "refs/orchestrate/run/t1.lock", "refs/orchestrate/run/t2.lock"]
    others = ["refs/heads/main.lock", "refs/orchestrate/runner.lock", "packed-refs.lock", "index.lock"]
    for name in (*locks, *others):
        (git_dir / name).touch()

    swept = await remove_dead_ref_locks(git, [REF, "refs/orchestrate/run/", "refs/heads/none"])

    assert swept == tuple(sorted(name.removesuffix(".lock") for name in locks))
    assert [name for name in (*locks, *others) if (git_dir / name).exists()] == others
    await move_ref(git, REF, commits[1], commits[0], "works again")


async def test_sweeping_follows_no_link(project: Project, git: Git, commits: list[str]) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "precious.lock").touch()
    await set_ref(git, "refs/orchestrate/x", commits[0])
    (project.root / ".git" / "refs" / "orchestrate" / "link").symlink_to(outside)

    assert await remove_dead_ref_locks(git, ["refs/orchestrate"]) == ()
    assert (outside / "precious.lock").exists()


async def test_ancestry(git: Git, commits: list[str]) -> None:
    assert await is_ancestor(git, commits[1], commits[3])
    assert await is_ancestor(git, commits[1], commits[1])
    assert not await is_ancestor(git, commits[3], commits[1])
