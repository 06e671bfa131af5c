"""Mistakes that newcomers make, each on a repository of its own: how it comes about and what is typed."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.running.cli import Finished, environment
from tests.running.cli import orchestrate as start_process
from tests.running.goals import one
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import write_script

MODELS = tuple(word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}=MODEL"))
GATED = ("--gate", GATE, "--set", "gate.report=unittest")
RUN = ("run", "make it better", *GATED, *MODELS)

PAGE = Path(__file__).parents[2] / "docs" / "mistakes.md"
Prepare = Callable[[Path], Path | None]
"""Makes the mistake in a repository; gives the directory that is named with --repo, if it is another."""


def _leave_alone(_repo: Path) -> None:
    """Make no mistake in the repository."""


@dataclass(frozen=True)
class Mistake:
    """A mistake, what is typed, and the exit code; `MODEL` and `HOME` in words and variables are filled in.

    `is_process` is for mistakes that a process sees only at its start.
    """

    code: int
    prepare: Prepare = _leave_alone
    words: Sequence[str] = RUN
    variables: Mapping[str, str] = field(default_factory=dict)
    name: str = "repo"
    is_process: bool = False

    def make(self, home: Path) -> tuple[Finished, Path]:
        """Make the mistake below `home` and type the command; gives what it did, and the directory it was for."""
        checkout = calculator(home / self.name)
        named = self.prepare(checkout) or checkout
        model = write_script(home / "script.json", one("a"))

        def fill_in(text: str) -> str:
            return text.replace("MODEL", model).replace("HOME", str(home))

        variables = {name: fill_in(value) for name, value in self.variables.items()}
        words = [*map(fill_in, self.words), "--repo", str(named), "--state", str(home / "state")]
        call = start_process if self.is_process else orchestrate
        return call(*words, cwd=home, env=environment(home, **variables)), named


def write_file(path: str, text: str) -> Prepare:
    """Return what writes a file that is not committed; `path` is below the repository."""

    def prepare(repo: Path) -> None:
        target = repo / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    return prepare


def commit_file(path: str, content: bytes) -> Prepare:
    """Return what commits a file."""

    def prepare(repo: Path) -> None:
        target = repo / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "a file")

    return prepare


def run_git(*words: str) -> Prepare:
    """Return what runs git in the repository."""

    def prepare(repo: Path) -> None:
        git(repo, *words)

    return prepare


def name_directory_without_git(repo: Path) -> Path:
    """Name a directory that is no repository."""
    (repo.parent / "plain").mkdir()
    return repo.parent / "plain"


def forget_to_commit(repo: Path) -> None:
    """Leave the repository without a commit."""
    shutil.rmtree(repo / ".git")
    git(repo, "init", "-q", "-b", "main")


def clone_bare(repo: Path) -> Path:
    """Name a bare clone."""
    git(repo.parent, "clone", "-q", "--bare", "repo", "bare.git")
    return repo.parent / "bare.git"


def clone_shallow(repo: Path) -> Path:
    """Name a clone of the last commit only."""
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    git(repo.parent, "clone", "-q", "--depth", "1", repo.as_uri(), "shallow")
    return repo.parent / "shallow"


def clone_without_files(repo: Path) -> Path:
    """Name a partial clone that has fetched no file's content."""
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo.parent, "clone", "-q", "--filter=blob:none", "--no-checkout", repo.as_uri(), "part")
    return repo.parent / "part"


def begin_merge(repo: Path) -> None:
    """Leave a merge in conflict."""
    git(repo, "checkout", "-q", "-b", "other")
    (repo / "calc.py").write_text("other\n")
    git(repo, "commit", "-q", "-am", "other")
    git(repo, "checkout", "-q", "main")
    (repo / "calc.py").write_text((repo / "calc.py").read_text() + "# mine\n")
    git(repo, "commit", "-q", "-am", "mine")
    subprocess.run(["git", "merge", "-q", "other"], cwd=repo, capture_output=True, check=False)


def break_object(repo: Path) -> None:
    """Damage the object of a committed file."""
    oid = git(repo, "rev-parse", "HEAD:calc.py")
    path = repo / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"junk")


def give_away(repo: Path) -> None:
    """Give the repository to another user."""
    os.chown(repo / ".git", 1234, 1234)


def add_submodule(repo: Path) -> None:
    """Commit a submodule."""
    calculator(repo.parent / "library")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "vendor/library")
    git(repo, "commit", "-q", "-m", "submodule")


def check_out_sparsely(repo: Path) -> None:
    """Check out a part of the files."""
    commit_file("sub/other.py", b"1\n")(repo)
    git(repo, "sparse-checkout", "set", "--no-cone", "/calc.py", "/test_calc.py")


def install_old_git(repo: Path) -> None:
    """Put a git first on PATH that says it is an old one."""
    script = '#!/bin/sh\ncase "$*" in *version*) echo git version 2.20.1; exit 0;; esac\nexec {} "$@"\n'
    program = repo.parent / "bin" / "git"
    program.parent.mkdir()
    program.write_text(script.format(shutil.which("git")))
    program.chmod(0o755)


def commit_many_files(repo: Path) -> None:
    """Commit 75,000 small files in 750 directories."""
    stream = ["commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfiles\nfrom refs/heads/main^0\n"]
    for number in range(75_000):
        stream.append(f"M 644 inline data/{number // 100:03}/{number % 100:02}.txt\ndata 6\n{number:05}\n\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repo, input="".join(stream), text=True, check=True)
    git(repo, "reset", "-q", "--hard")


def read_page() -> dict[str, str]:
    """Return what the page of mistakes says is printed, in Markdown, by the name of the mistake."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            name, said, _ = (cell.strip() for cell in line.strip("|").split(" |"))
            rows[name] = said
    rows.pop("mistake")
    return rows


def assert_said(name: str, printed: str) -> None:
    """Fail unless a text holds every word that the page of mistakes says is printed, and no traceback."""
    assert "Traceback" not in printed, printed
    for fragment in re.findall(r"`(.+?)`", read_page()[name]):
        for part in fragment.split("…"):
            assert part.strip() in printed
