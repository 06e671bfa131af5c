"""Small git repositories to run on."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from orchestrator.demo.published_package import create_sample_project

GATE = "python3 -m unittest -v"
GATE_FLAGS = {"command": GATE, "report": "unittest", "reruns": 1}


def git(root: Path, *words: str) -> str:
    """What git prints, run as a person would in the checkout."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository with one commit of these files."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")
    return root


def shop(directory: Path) -> Path:
    """The sample shop of the demo as a repository."""
    return create_sample_project(directory).root


def calculator(root: Path) -> Path:
    """The smallest project with a test that can break: `add` and `double`."""
    return repository(
        root,
        {
            ".gitignore": "__pycache__/\n",
            "calc.py": "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n",
            "test_calc.py": (
                "import unittest\n\nfrom calc import add, double\n\n\n"
                "class CalcTest(unittest.TestCase):\n"
                "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n"
                "    def test_double(self):\n        self.assertEqual(double(4), 8)\n"
            ),
        },
    )


def tree_at(root: Path, ref: str) -> str:
    """The tree id of a ref."""
    return git(root, "rev-parse", f"{ref}^{{tree}}")


def refs(root: Path) -> dict[str, str]:
    """Every ref with its object."""
    lines = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


def commit(repository: Path, parent: str, path: str, text: str) -> str:
    """A commit on top of another one, made beside the checkout."""
    place = repository.parent / "beside"
    git(repository, "worktree", "add", "-q", "--detach", str(place), parent)
    (place / path).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "by hand")
    made = git(place, "rev-parse", "HEAD")
    git(repository, "worktree", "remove", "--force", str(place))
    return made
