"""A user's repository made with plain git, and what must never change in it."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

import worktrees
from worktrees.checkouts.pool import WorktreePool
from worktrees.checkouts.worktree import Worktree
from worktrees.repositories.repository import GitRepository
from worktrees.snapshots.snapshot import WorktreeSnapshot, snapshot_worktree

FILES = {
    "README.md": "hello\n",
    "src/app.py": "print('app')\n",
    "src/deep/er/mod.py": "x = 1\n",
    "tests/test_app.py": "def test(): pass\n",
    ".gitignore": "*.log\nbuild/\n",
}
EXPECTED: dict[str, bytes | str] = {path: text.encode() for path, text in FILES.items()}
"""What `content` gives of a worktree at the first commit."""


@dataclass(frozen=True)
class Project:
    """A checkout that belongs to the user; `git` here is git as the user runs it, with every driver and hook."""

    root: Path

    def git(self, *args: str, ok: bool = True, stdin: bytes | None = None) -> str:
        done = subprocess.run(["git", *args], cwd=self.root, capture_output=True, check=False, input=stdin)
        assert not ok or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def complaint(self, *args: str) -> str:
        """What plain git writes to standard error."""
        return subprocess.run(["git", *args], cwd=self.root, capture_output=True, text=True, check=False).stderr

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            place = Path(os.fsdecode(os.fsencode(self.root / path)))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes]) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def tree(self, commit: str = "HEAD") -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}")

    def files(self, treeish: str = "HEAD") -> list[str]:
        return [path for path in self.git("ls-tree", "-r", "-z", "--name-only", treeish).split("\0") if path]

    def show(self, name: str) -> bytes:
        return subprocess.run(["git", "show", name], cwd=self.root, capture_output=True, check=True).stdout

    def fingerprint(self) -> str:
        """Working files, index and branches: what nobody but the user may change."""
        seen = hashlib.sha256((self.root / ".git" / "index").read_bytes())
        seen.update((self.root / ".git" / "HEAD").read_bytes() + (self.root / ".git" / "config").read_bytes())
        seen.update(self.git("for-each-ref", "refs/heads", "refs/tags").encode())
        for file in sorted(path for path in self.root.rglob("*") if ".git" not in path.parts):
            seen.update(os.fsencode(file) + (file.read_bytes() if file.is_file() else b""))
        return seen.hexdigest()


def python(code: str, *args: str) -> "subprocess.Popen[str]":
    """Another process that runs `code` with the package at hand; talk to it through its pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(worktrees.__file__).parents[1]), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def until(condition: Callable[[], bool], limit_s: float = 60.0) -> bool:
    with anyio.move_on_after(limit_s):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await anyio.sleep(0.01)
        return True
    return False


def content(root: Path) -> dict[str, bytes | str]:
    """All files, links and empty directories below a worktree, apart from git's pointer."""
    found: dict[str, bytes | str] = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files]:
            place = Path(directory, name)
            path = str(place.relative_to(root))
            if place.is_symlink():
                found[path] = f"-> {place.readlink()}"
            elif place.is_file():
                found[path] = place.read_bytes()
            elif not place.is_dir() or not any(place.iterdir()):
                found[path] = "special"
    del found[".git"]
    return found


async def whole_way(worktree: Worktree, pool: WorktreePool) -> WorktreeSnapshot:
    """Everything that is ever done to a worktree after a worker was in it; ends with a new lease of it."""
    await worktree.list_paths()
    await worktree.search_text("print", "**", 5)
    taken = await snapshot_worktree(worktree, "work", "refs/orchestrate/test")
    await worktree.restore_tree(taken.tree)
    again = await snapshot_worktree(worktree, "work", None)
    assert again.tree == taken.tree
    await pool.release_worktree(worktree)
    leased = await pool.lease_worktree(worktree.commit)
    assert (leased.name, content(leased.root)) == (worktree.name, EXPECTED)
    return taken


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("template"))
    made.git("init", "-q", "-b", "main", "--template=")
    made.commit(FILES)
    made.git("gc", "-q", "--prune=now")
    return made


@pytest.fixture
def project(template: Project, tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    shutil.copytree(template.root, made.root, symlinks=True)
    (made.root / ".git" / "info").mkdir(exist_ok=True)
    made.git("update-index", "--refresh")
    return made


@pytest.fixture
def repository(project: Project) -> GitRepository:
    return GitRepository.open(project.root)


@pytest.fixture
def pool(repository: GitRepository, tmp_path: Path) -> WorktreePool:
    return WorktreePool(repository, tmp_path / "pool")


@pytest.fixture
async def worktree(pool: WorktreePool, repository: GitRepository) -> AsyncIterator[Worktree]:
    leased = await pool.lease_worktree(repository.read_head_commit())
    yield leased
    await pool.release_worktree(leased)
