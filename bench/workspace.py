"""Measure how soon a workspace is ready, beside `git worktree add` in the same rounds.

    python -m bench.workspace            # a repository of 5,000 files
    FULL=1 python -m bench.workspace     # also of 75,000 files

A lease is measured of a worktree that was used before, after an agent has changed 40 files (20 edits, 20 new ones):
for the same commit, and for another one that differs by 50 files; and of the first worktree of a pool. Figures are CPU
time of this process and its children. TMPDIR says on which file system. BENCH_PLANT=2 makes our leases take twice the
CPU: to see that a slower lease shows.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench.measuring import (
    Bar,
    Round,
    burn_cpu,
    format_figures,
    read_planted_factor,
    report_rounds,
    require_quiet_machine,
)
from orchestrator.hands.watch.checkout_reports import CheckoutReports
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.repositories.repository import GitRepository

SMALL, LARGE = 5_000, 75_000
MOST_OF_ADD = {SMALL: (0.05, 0.3), LARGE: (0.01, 0.06)}
"""Bars of a recycled worktree against `git worktree add`, by the files of the repository: for the same commit, and for
another one, where git writes a whole new index."""
FILES_A_FOLDER, FILE_BYTES = 10, 4_000
EDITED, ADDED, DIFFERING = 20, 20, 50
SANDBOX_USER = 65534
"""The user that files belong to where we are root, as in a run."""


@dataclass(frozen=True)
class Project:
    """A repository of so many files, and two commits of it that differ by `DIFFERING` files."""

    root: Path
    files: int
    base: str
    other: str


@dataclass(frozen=True)
class Cost:
    """CPU time of us and our children, and time by the clock, in milliseconds."""

    cpu_ms: float
    wall_ms: float


def main() -> int:
    """Print a table for each size; return 1 if a bar is not held."""
    require_quiet_machine()
    is_full = bool(os.environ.get("FULL"))
    rounds, past = int(os.environ.get("ROUNDS", "5")), 0
    for files in (SMALL, LARGE) if is_full else (SMALL,):
        with tempfile.TemporaryDirectory(prefix="bench-workspace-") as place:
            project = create_project(Path(place) / "project", files)
            measured = anyio.run(measure_rounds, project, Path(place), rounds)
        same, other = MOST_OF_ADD[files]
        bars = [Bar("same commit / add", same), Bar("other commit / add", other)]
        past |= report_rounds(f"workspace: {files} files, ms of CPU", measured, bars)
    return past


async def measure_rounds(project: Project, place: Path, count: int) -> list[Round]:
    """Measure so many rounds on one pool, after leases that make its worktree a used one."""
    with ExitStack() as stack:
        pool = open_pool(project, place / "pool", stack)
        for commit in (project.base, project.other, project.base):
            await pool.release_worktree(await pool.lease_worktree(commit))
        rounds = []
        for number in range(count):
            rounds.append(await measure_round(pool, project, place / f"round-{number}"))
            print(f"round {number + 1} of {count}: {format_figures(rounds[-1])}", flush=True)
        return rounds


async def measure_round(pool: WorktreePool, project: Project, place: Path) -> Round:
    """Measure each way to a workspace once."""
    added = measure_worktree_add(project, place / "added")
    same = await measure_recycled(pool, project, project.base)
    other = await measure_recycled(pool, project, project.other)
    await pool.release_worktree(await pool.lease_worktree(project.base))
    with ExitStack() as stack:
        fresh = open_pool(project, place / "pool", stack)
        first = await measure_cost(lambda: fresh.lease_worktree(project.base))
        await fresh.release_worktree(first[1])
        await fresh.remove_idle_worktrees()
    return {
        "git worktree add": added.cpu_ms,
        "same commit": same.cpu_ms,
        "other commit": other.cpu_ms,
        "first of a pool": first[0].cpu_ms,
        "same commit / add": same.cpu_ms / added.cpu_ms,
        "other commit / add": other.cpu_ms / added.cpu_ms,
        "first of a pool / add": first[0].cpu_ms / added.cpu_ms,
        "git worktree add: by the clock": added.wall_ms,
        "same commit: by the clock": same.wall_ms,
        "other commit: by the clock": other.wall_ms,
        "first of a pool: by the clock": first[0].wall_ms,
    }


def measure_worktree_add(project: Project, place: Path) -> Cost:
    """Measure what git itself takes for a new worktree, which is removed again."""
    began, used = time.perf_counter(), read_cpu_s()
    run_git(project.root, "worktree", "add", "--quiet", "--detach", str(place), project.base)
    cost = Cost((read_cpu_s() - used) * 1000, (time.perf_counter() - began) * 1000)
    run_git(project.root, "worktree", "remove", "--force", str(place))
    return cost


async def measure_recycled(pool: WorktreePool, project: Project, commit: str) -> Cost:
    """Measure a lease at a commit of the worktree in which an agent has been at the base."""
    worktree = await pool.lease_worktree(project.base)
    change_files(worktree.root, project)
    await pool.release_worktree(worktree)
    cost, again = await measure_cost(lambda: pool.lease_worktree(commit))
    check_content(again, project)
    await pool.release_worktree(again)
    return cost


async def measure_cost(work: Callable[[], Awaitable[Worktree]]) -> tuple[Cost, Worktree]:
    """Return the cost of a lease, and what was leased."""
    began, used = time.perf_counter(), read_cpu_s()
    worktree = await work()
    burn_cpu((read_planted_factor() - 1) * (read_cpu_s() - used))
    return Cost((read_cpu_s() - used) * 1000, (time.perf_counter() - began) * 1000), worktree


def read_cpu_s() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def open_pool(project: Project, root: Path, stack: ExitStack) -> WorktreePool:
    """Return a pool as a run has it, with the kernel's reports on its worktrees."""
    owner = SANDBOX_USER if os.geteuid() == 0 else None
    reports = stack.enter_context(CheckoutReports())
    return WorktreePool(GitRepository.open(project.root), root, owner, reports)


def change_files(root: Path, project: Project) -> None:
    """Edit files and add new ones, in place and by renaming, all over the checkout."""
    chosen = random.sample(range(project.files), EDITED + ADDED)
    for number in chosen[:EDITED]:
        file = root / name_file(number)
        if number % 2:
            with file.open("a") as opened:
                opened.write("an edit\n")
            continue
        beside = file.with_suffix(".tmp")
        beside.write_text(f"{file.read_text()}an edit\n")
        beside.replace(file)
    for number in chosen[EDITED:]:
        (root / name_file(number)).with_suffix(".new").write_text("a new file\n")


def check_content(worktree: Worktree, project: Project) -> None:
    """Leave if the worktree does not hold exactly its commit: speed without that counts for nothing."""
    git = ("--no-optional-locks", "--git-dir", str(worktree.admin), "--work-tree", str(worktree.root))
    if said := run_git(project.root, *git, "status", "--porcelain", "--ignored"):
        sys.exit(f"the worktree is not as its commit:\n{said[:2_000]}")
    if differing := run_git(project.root, *git, "diff", "--name-only", worktree.commit):
        sys.exit(f"the worktree is not as its commit:\n{differing[:2_000]}")


def create_project(root: Path, files: int) -> Project:
    """Make a repository of so many files of a few kilobytes each."""
    root.mkdir(parents=True)
    run_git(root, "init", "--quiet", "--initial-branch=main", "--template=")
    run_git(root, "fast-import", "--quiet", stdin=b"".join(write_commits(files)))
    names = run_git(root, "rev-parse", "main~1", "main").split()
    run_git(root, "config", "gc.auto", "0")
    return Project(root, files, *names)


def write_commits(files: int) -> Iterator[bytes]:
    """Yield what `git fast-import` reads for two commits."""
    text = random.Random(files).randbytes(200_000).hex().encode()
    yield write_commit(b"base")
    for number in range(files):
        start = number * 37 % (len(text) - FILE_BYTES)
        yield write_file(number, b"%d\n%s\n" % (number, text[start : start + FILE_BYTES]))
    yield write_commit(b"other")
    for number in range(0, files, files // DIFFERING):
        yield write_file(number, b"the other content of %d\n" % number)


def write_commit(message: bytes) -> bytes:
    """Return the head of a commit on top of the last one."""
    return b"commit refs/heads/main\ncommitter b <b@b.invalid> 0 +0000\ndata %d\n%s\n" % (len(message), message)


def write_file(number: int, content: bytes) -> bytes:
    """Return the record of a file of a commit."""
    return b"M 100644 inline %s\ndata %d\n%s\n" % (name_file(number).encode(), len(content), content)


def name_file(number: int) -> str:
    """Return the path of a file: so many a folder, ten folders in each of those above."""
    folder = number // FILES_A_FOLDER
    return f"part{folder // 100}/group{folder // 10 % 10}/folder{folder % 10}/file{number}.txt"


def run_git(root: Path, *words: str, stdin: bytes | None = None) -> str:
    """Run git as a user does, and return what it prints."""
    command: Sequence[str] = ("git", *words)
    done = subprocess.run(command, cwd=root, input=stdin, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


if __name__ == "__main__":
    sys.exit(main())
