"""Take many workspaces at once, from several processes, and one after the other: nothing fails, grows or stays.

    python -m bench.churn            # 15 at once, twice, in 2 processes; 60 cycles
    FULL=1 python -m bench.churn     # 50 at once, 20 times, in 3 processes; 1,000 cycles

A cycle is a lease, edits, a snapshot and the release. What must not stay is counted afterwards: descriptors, mounts,
processes, locks, registrations, and objects that `git fsck` complains of. Leaves with 1 if anything does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import anyio

from bench.measuring import Bar, Round, report_rounds, require_quiet_machine
from bench.workspace import Project, change_files, create_project, open_pool, run_git
from worktrees.checkouts.pool import WorktreePool
from worktrees.errors import GitError
from worktrees.snapshots.snapshot import snapshot_worktree

FILES = 600
MOST_GROWTH = 1.2
"""Bar of the median time of the last cycles against the first ones."""
MESSAGE = "Snapshot of a cycle"


def main() -> int:
    """Print both tables; return 1 if anything failed, grew or stayed. With arguments it is one of the processes."""
    if len(sys.argv) > 1:
        return anyio.run(lease_together, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    require_quiet_machine()
    is_full = bool(os.environ.get("FULL"))
    at_once, times, processes, cycles = (50, 20, 3, 1_000) if is_full else (15, 2, 2, 60)
    with tempfile.TemporaryDirectory(prefix="bench-churn-") as name:
        project = create_project(Path(name) / "project", FILES)
        figures = measure_crowd(project, at_once, times, processes)
        title = f"churn: {at_once} at once, {times} times, in {processes} processes"
        past = report_rounds(title, [figures], [Bar("failures", 0), Bar("left over", 0)])
        soak = anyio.run(measure_soak, project, Path(name) / "soak", cycles)
        bars = [Bar("last / first", MOST_GROWTH), Bar("left over", 0)]
        past |= report_rounds(f"churn: {cycles} cycles", [soak], bars)
    return past


def measure_crowd(project: Project, at_once: int, times: int, processes: int) -> Round:
    """Lease so many workspaces at once, so many times, in so many processes on one pool."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "bench.churn", str(project.root), str(at_once), str(times)]
    running = []
    for _ in range(processes):
        running.append(subprocess.Popen(words, cwd=Path(__file__).parents[1]))
    failed = 0
    for one in running:
        failed += one.wait() != 0
    seconds = time.perf_counter() - began
    left = count_leftovers(project, project.root.parent / "crowd", Counter(), has_pool=True)
    leases = at_once * times * processes
    return {"leases": leases, "failures": failed, "left over": left, "ms a lease": seconds / leases * 1000}


async def lease_together(root: Path, at_once: int, times: int) -> int:
    """Be one of the processes; return 1 if a lease failed or was not as its commit."""
    base, other = run_git(root, "rev-parse", "main~1", "main").split()
    project, failures = Project(root, FILES, base, other), 0
    with ExitStack() as stack:
        pool = open_pool(project, root.parent / "crowd", stack)

        async def lease_once(commit: str) -> None:
            nonlocal failures
            try:
                worktree = await pool.lease_worktree(commit)
                change_files(worktree.root, project)
                await pool.release_worktree(worktree)
            except (GitError, OSError) as error:
                failures += 1
                print(f"a lease failed: {error}", file=sys.stderr, flush=True)

        for number in range(times):
            async with anyio.create_task_group() as group:
                for _ in range(at_once):
                    group.start_soon(lease_once, base if number % 2 else other)
    return int(failures > 0)


async def measure_soak(project: Project, place: Path, cycles: int) -> Round:
    """Lease, edit, snapshot and release so often, on one pool."""
    with ExitStack() as stack:
        pool = open_pool(project, place, stack)
        for _ in range(5):
            await run_cycle(pool, project)
        before = count_kernel_objects()
        taken = []
        for _ in range(cycles):
            began = time.perf_counter()
            await run_cycle(pool, project)
            taken.append((time.perf_counter() - began) * 1000)
        left = count_leftovers(project, place, before, has_pool=True)
        await pool.remove_idle_worktrees()
        left += count_leftovers(project, place, before, has_pool=False)
    share = min(100, cycles // 3)
    first, last = statistics.median(taken[:share]), statistics.median(taken[-share:])
    return {"first: ms": first, "last: ms": last, "last / first": last / first, "left over": left}


async def run_cycle(pool: WorktreePool, project: Project) -> None:
    """Do once what a task does with its workspace."""
    worktree = await pool.lease_worktree(project.base)
    change_files(worktree.root, project)
    taken = await snapshot_worktree(worktree, MESSAGE, "refs/bench/cycle")
    if not taken.commit:
        sys.exit("a snapshot has no commit")
    await pool.release_worktree(worktree)


def count_kernel_objects() -> Counter[str]:
    """Count what this process has open, what is mounted, and which processes it started."""
    children = 0
    for task in Path("/proc/self/task").iterdir():
        children += len((task / "children").read_text().split())
    return Counter(
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        mounts=len(Path("/proc/self/mounts").read_text().splitlines()),
        processes=children,
    )


def count_leftovers(project: Project, pool: Path, before: Counter[str], *, has_pool: bool) -> int:
    """Count what is there and must not be, and name it."""
    found: list[str] = []
    if before:
        for name, count in (count_kernel_objects() - before).items():
            found += [f"{count} more {name}"]
    git = project.root / ".git"
    found += [f"a lock: {lock}" for lock in git.rglob("*.lock") if lock.name != "orchestrate.lock"]
    found += [f"an index: {index}" for index in git.rglob("orchestrate-index-*")]
    names = {file.stem for file in pool.glob("w*.lock")}
    kept = {file.name for file in pool.glob("w*") if file.is_dir()}
    if kept != names or (kept and not has_pool):
        found.append(f"worktrees {sorted(kept)}, locks {sorted(names)}")
    registered = run_git(project.root, "worktree", "list", "--porcelain").count(f"worktree {pool}/")
    if registered != len(kept):
        found.append(f"{registered} registrations of {len(kept)} worktrees")
    fsck = subprocess.run(
        ("git", "fsck", "--no-dangling"), cwd=project.root, capture_output=True, text=True, check=False
    )
    if fsck.returncode:
        found.append(f"git fsck: {fsck.stderr[:500]}")
    for line in found:
        print(f"left over: {line}", file=sys.stderr, flush=True)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
