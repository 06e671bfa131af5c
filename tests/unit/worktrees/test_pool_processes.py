"""One pool, several processes, and some of them killed."""

import json
import os
import signal
import subprocess
from pathlib import Path

import anyio

from tests.unit.worktrees.conftest import EXPECTED, Project, content, python, until
from worktrees.checkouts.pool import WorktreePool

LEASING = """
import anyio, json, pathlib, sys
from worktrees.checkouts.pool import WorktreePool
from worktrees.repositories.repository import GitRepository
async def main(root, place, ready, go):
    repository = GitRepository.open(pathlib.Path(root))
    pool = WorktreePool(repository, pathlib.Path(place))
    held = []
    async def one():
        held.append(await pool.lease_worktree(repository.read_head_commit()))
    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(one)
    last = "src/deep/er/mod.py"
    good = all((w.root / "README.md").read_text() == "hello\\n" and (w.root / last).exists() for w in held)
    print(json.dumps([good, sorted(w.name for w in held)]), flush=True)
    sys.stdin.readline()
anyio.run(main, *sys.argv[1:], None, None)
"""

NAPPING = """
import anyio, pathlib, sys
from worktrees.checkouts.pool import WorktreePool
from worktrees.repositories.repository import GitRepository
async def main(root, place, nap):
    repository = GitRepository.open(pathlib.Path(root))
    worktree = await WorktreePool(repository, pathlib.Path(place)).lease_worktree(repository.read_head_commit())
    print(worktree.name, flush=True)
    await worktree.git.run("-c", nap, "nap")
anyio.run(main, *sys.argv[1:])
"""


def leasing(project: Project, place: Path) -> "subprocess.Popen[str]":
    return python(LEASING, str(project.root), str(place))


async def test_many_leases_in_several_processes_at_once_all_succeed(project: Project, tmp_path: Path) -> None:
    processes = [leasing(project, tmp_path / "pool") for _ in range(2)]
    told = [json.loads(process.stdout.readline()) for process in processes if process.stdout]
    for process in processes:
        process.communicate("\n")

    assert [good for good, _ in told] == [True, True]
    names = told[0][1] + told[1][1]
    assert len(set(names)) == 24
    assert project.git("worktree", "list").count("\n") == 24
    assert project.git("fsck", "--no-dangling") == ""


async def test_a_killed_process_gives_its_worktrees_back(project: Project, pool: WorktreePool, tmp_path: Path) -> None:
    process = leasing(project, tmp_path / "pool")
    assert process.stdout
    names = json.loads(process.stdout.readline())[1]
    taken = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    assert taken.name not in names

    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert (await pool.lease_worktree(taken.commit)).name in names


async def test_a_process_killed_while_leasing_leaves_a_pool_that_works(
    project: Project, pool: WorktreePool, tmp_path: Path
) -> None:
    for pause in (0.3, 0.4):
        process = leasing(project, tmp_path / "pool")
        await anyio.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    leased = [await pool.lease_worktree(project.git("rev-parse", "HEAD")) for _ in range(8)]

    assert [content(worktree.root) for worktree in leased] == [EXPECTED] * 8
    assert project.git("worktree", "list").count("\n") >= 8


async def test_a_worktree_is_not_leased_while_a_git_of_a_killed_process_is_at_it(
    project: Project, pool: WorktreePool, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    process = python(NAPPING, str(project.root), str(tmp_path / "pool"), f"alias.nap=!echo $$ > {pid}; exec sleep 60")
    assert process.stdout
    name = process.stdout.readline().strip()
    assert await until(lambda: pid.exists() and pid.read_text().endswith("\n"))
    process.kill()
    process.communicate()

    other = await pool.lease_worktree(project.git("rev-parse", "HEAD"))
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert await until(lambda: name in pool.list_idle_worktrees())
    again = await pool.lease_worktree(other.commit)

    assert (other.name != name, again.name) == (True, name)
