"""Leases of a worktree whose changes the kernel reports: as exact as without, whatever a command has done in it."""

import mmap
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.hands import local
from orchestrator.hands.policy import SandboxGrant
from orchestrator.hands.watch import checkout_reports
from orchestrator.hands.watch.checkout_reports import CheckoutReports
from tests.unit.worktrees.conftest import EXPECTED, FILES, Project, content
from worktrees.checkouts.change_reports import ReportedChanges
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.tree_layout import TreeLayout
from worktrees.repositories.repository import GitRepository

OWNER = 12345 if os.geteuid() == 0 else None


@pytest.fixture
def reports() -> Iterator[CheckoutReports]:
    with CheckoutReports() as made:
        yield made


@pytest.fixture
def watched_pool(repository: GitRepository, tmp_path: Path, reports: CheckoutReports) -> WorktreePool:
    return WorktreePool(repository, tmp_path / "pool", OWNER, reports)


async def lease_watched(pool: WorktreePool, reports: CheckoutReports, commit: str) -> Path:
    """Lease a worktree that has been used before, and is watched."""
    for _ in range(2):
        await pool.release_worktree(await pool.lease_worktree(commit))
    worktree = await pool.lease_worktree(commit)
    assert reports.collect_changes(worktree.root) == ReportedChanges(frozenset(), frozenset())
    await pool.release_worktree(worktree)
    return worktree.root


def write_through_another_name(root: Path) -> None:
    (root / "new").mkdir()
    os.link(root / "src" / "app.py", root / "new" / "same")
    (root / "new" / "same").write_text("print('APP')\n")
    shutil.rmtree(root / "new")


def write_through_a_mapping(root: Path) -> None:
    with (root / "README.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0:1] = b"H"


def rename_a_directory_and_back(root: Path) -> None:
    (root / "src").rename(root / "elsewhere")
    (root / "elsewhere" / "deep" / "er" / "mod.py").write_text("x = 2\n")
    (root / "elsewhere").rename(root / "src")


def replace_a_directory(root: Path) -> None:
    shutil.copytree(root / "src", root / "copy")
    (root / "src").rename(root / "old")
    (root / "copy").rename(root / "src")
    (root / "src" / "app.py").write_text("print('APP')\n")


def replace_a_directory_by_a_link(root: Path) -> None:
    (root / "src").rename(root / "real")
    (root / "src").symlink_to("real")
    (root / "real" / "app.py").write_text("print('APP')\n")


def hide_an_edit_behind_old_times(root: Path) -> None:
    victim = root / "src" / "app.py"
    times = victim.stat()
    victim.write_text("print('APP')\n")
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))


def close_directories(root: Path) -> None:
    (root / "src" / "app.py").write_text("print('APP')\n")
    (root / "src" / "deep").chmod(0)
    (root / "src").chmod(0o500)


def replace_a_file_by_a_directory(root: Path) -> None:
    (root / "README.md").unlink()
    (root / "README.md" / "in").mkdir(parents=True)


def exchange_files(root: Path) -> None:
    (root / "README.md").rename(root / "x")
    (root / "src" / "app.py").rename(root / "README.md")
    (root / "x").rename(root / "src" / "app.py")


def remove_everything(root: Path) -> None:
    for place in root.iterdir():
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


def add_a_repository(root: Path) -> None:
    (root / "src" / "deep" / ".git").mkdir()
    (root / "src" / "deep" / "er" / ".gitattributes").write_text("* text eol=crlf\n")
    (root / "src" / "deep" / "er" / "mod.py").write_text("x = 2\n")


def lose_reports(root: Path) -> None:
    for number in range(9000):  # twice as many are more than the kernel keeps for us
        os.chmod(root / "README.md", 0o600 + number % 2)  # noqa: PTH101 - it is many of them
        os.chmod(root / "src", 0o700 + number % 2)  # noqa: PTH101
    (root / "src" / "deep" / "er" / "mod.py").write_text("x = 2\n")


MISCHIEF: dict[str, Callable[[Path], object]] = {
    "an edit": lambda root: (root / "src" / "app.py").write_text("print('APP')\n"),
    "executable": lambda root: (root / "src" / "app.py").chmod(0o755),
    "another name": write_through_another_name,
    "a mapping": write_through_a_mapping,
    "renamed and back": rename_a_directory_and_back,
    "a directory replaced": replace_a_directory,
    "a link for a directory": replace_a_directory_by_a_link,
    "old times": hide_an_edit_behind_old_times,
    "closed directories": close_directories,
    "a directory for a file": replace_a_file_by_a_directory,
    "exchanged": exchange_files,
    "all gone": remove_everything,
    "a repository": add_a_repository,
}


@pytest.mark.parametrize("mischief", MISCHIEF.values(), ids=MISCHIEF)
async def test_a_lease_is_exact_after(
    watched_pool: WorktreePool, reports: CheckoutReports, project: Project, mischief: Callable[[Path], object]
) -> None:
    commit = project.git("rev-parse", "HEAD")
    root = await lease_watched(watched_pool, reports, commit)
    for _ in range(2):
        mischief(root)

        worktree = await watched_pool.lease_worktree(commit)

        assert content(root) == EXPECTED
        assert await worktree.git.run_text("diff-files", "--name-only") == ""
        assert await worktree.git.run_text("write-tree") == project.tree(commit)
        assert not (root / "README.md").stat().st_mode & 0o100
        assert {place.lstat().st_uid for place in (root, *root.rglob("*"))} == {OWNER or os.geteuid()}
        await watched_pool.release_worktree(worktree)


@pytest.mark.extended
async def test_a_lease_is_exact_after_reports_were_lost(
    watched_pool: WorktreePool, reports: CheckoutReports, project: Project
) -> None:
    commit = project.git("rev-parse", "HEAD")
    root = await lease_watched(watched_pool, reports, commit)
    lose_reports(root)
    assert reports.collect_changes(root) is None

    await watched_pool.lease_worktree(commit)

    assert content(root) == EXPECTED


async def test_what_another_process_did_between_two_leases_is_undone(
    watched_pool: WorktreePool, reports: CheckoutReports, project: Project
) -> None:
    commit = project.git("rev-parse", "HEAD")
    root = await lease_watched(watched_pool, reports, commit)
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text('other\\n')"
    await anyio.run_process([sys.executable, "-c", code, str(root / "src" / "app.py")])

    await watched_pool.lease_worktree(commit)

    assert content(root) == EXPECTED


async def test_attributes_have_contents_converted_as_git_does(
    watched_pool: WorktreePool, reports: CheckoutReports, project: Project
) -> None:
    commit = project.commit({".gitattributes": "*.txt eol=crlf\n", "lines.txt": "a\nb\n"})
    root = await lease_watched(watched_pool, reports, commit)
    (root / "lines.txt").write_text("changed\n")
    (root / ".gitattributes").unlink()

    worktree = await watched_pool.lease_worktree(commit)

    assert (root / "lines.txt").read_bytes() == b"a\r\nb\r\n"
    assert await worktree.git.run_text("diff-files", "--name-only") == ""


class FixedReports:
    """Says always the same of every checkout."""

    def __init__(self, changes: ReportedChanges) -> None:
        self.changes = changes

    def collect_changes(self, root: Path) -> ReportedChanges | None:
        assert root.is_dir()
        return self.changes

    def settle_checkout(self, root: Path, layout: TreeLayout, written: Collection[str] | None) -> None:
        assert root.is_dir()
        assert set(layout[""].files) <= set(FILES)
        assert written is None or set(written) <= set(FILES)


async def test_only_what_was_reported_is_looked_at(repository: GitRepository, tmp_path: Path) -> None:
    changes = ReportedChanges(frozenset({"src/new"}), frozenset({"README.md"}))
    pool = WorktreePool(repository, tmp_path / "pool", None, FixedReports(changes))
    worktree = await pool.lease_worktree(repository.read_head_commit())
    for name in ("README.md", "src/app.py", "src/new", "src/unreported"):
        (worktree.root / name).write_text("changed\n")
    await pool.release_worktree(worktree)

    await pool.lease_worktree(repository.read_head_commit())

    kept: dict[str, bytes | str] = {"src/app.py": b"changed\n", "src/unreported": b"changed\n"}
    assert content(worktree.root) == {**EXPECTED, **kept}


async def test_a_checkout_that_takes_more_than_its_share_of_watches_is_looked_at_as_a_whole(
    repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "max_user_watches"
    limit.write_text("12\n")
    monkeypatch.setattr(checkout_reports, "_MOST_WATCHES", limit)
    with CheckoutReports() as reports:
        pool = WorktreePool(repository, tmp_path / "pool", None, reports)
        for _ in range(3):
            worktree = await pool.lease_worktree(repository.read_head_commit())
            assert content(worktree.root) == EXPECTED
            assert reports.collect_changes(worktree.root) is None
            (worktree.root / "src" / "app.py").write_text("changed\n")
            await pool.release_worktree(worktree)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that other users can pass through: commands of root run as another one."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def test_commands_in_the_open_get_no_reports(
    repository: GitRepository, open_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_reports() -> CheckoutReports:
        pytest.fail("reports were asked for where a command may write through names outside the checkout")

    monkeypatch.setattr(local, "CheckoutReports", refuse_reports)
    monkeypatch.delenv("CI", raising=False)
    grant = SandboxGrant(without_sandbox=True)
    async with local.open_local_hands(repository, open_place / "state", grant) as hands:
        assert not hands.policy.is_confined


PATHS = st.sampled_from(["a", "b", "c/d", "c/e/f", "g/h"])
TREES = st.dictionaries(PATHS, st.sampled_from(["one\n", "two\n"]), min_size=1)
STEPS = st.tuples(st.sampled_from(["write", "remove", "rename", "link"]), PATHS, PATHS)


@pytest.mark.extended
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TREES, st.lists(STEPS, max_size=5)), min_size=4, max_size=6))
async def test_leases_are_exact_at_any_commit_after_any_changes(
    watched_pool: WorktreePool, project: Project, rounds: list[tuple[dict[str, str], list[tuple[str, str, str]]]]
) -> None:
    for files, steps in rounds:
        project.git("rm", "-rq", "--ignore-unmatch", ".")
        commit = project.commit(files)
        worktree = await watched_pool.lease_worktree(commit)
        assert content(worktree.root) == {path: text.encode() for path, text in files.items()}
        assert await worktree.git.run_text("diff-files", "--name-only") == ""
        assert await worktree.git.run_text("write-tree") == project.tree(commit)
        for step, path, other in steps:
            take_step(worktree.root, step, path, other)
        await watched_pool.release_worktree(worktree)


def take_step(root: Path, step: str, path: str, other: str) -> None:
    place, target = root / path, root / other
    try:
        if step == "write":
            place.write_text("changed\n")
        elif step == "remove":
            shutil.rmtree(place.parent if "/" in path else place)
        elif step == "rename":
            target.parent.mkdir(parents=True, exist_ok=True)
            place.rename(target)
        else:
            target.unlink()
            target.symlink_to(root.parent)
    except OSError:
        return
