"""The projects of the demo: a real package from the user's own index, or the bundled sample."""

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from orchestrator.errors import EnvironmentProblem
from worktrees.repository import create_repository

_CLICK = "click==7.1.2"
_TOOLS = ("flynt==1.0.6", "pytest<8")
_IGNORED = ".venv/\n__pycache__/\n*.pyc\n.pytest_cache/\n*.egg-info/\nbuild/\n"
Say = Callable[[str], None]


class IndexUnreachable(EnvironmentProblem):
    """The user's package index could not be asked, or does not have what the demo needs."""


@dataclass(frozen=True)
class Project:
    """A git repository to demonstrate on, with what is known of the outcome."""

    name: str
    root: Path
    recipe: str
    landed: int
    rejected: tuple[str, ...]


def real_package(directory: Path, say: Say) -> Project:
    """Click 7.1.2 with its tests and a virtual environment, below `directory`.

    Raises:
        IndexUnreachable: it could not be fetched; says what pip said.
    """
    root = directory / "click"
    say(f"fetching {_CLICK} from your package index …")
    environment = directory / "venv"
    _run([sys.executable, "-m", "venv", str(environment)])
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _fetch([*pip, "install", "setuptools", "wheel"])
    _fetch([*pip, "download", "--no-deps", "--no-binary=:all:", "--no-build-isolation", "-d", str(directory), _CLICK])
    _unpack(next(directory.glob("click-*.tar.gz")), root)
    _ignore(root)
    say("making a virtual environment with click, pytest and flynt …")
    _run([sys.executable, "-m", "venv", str(root / ".venv")])
    own_pip = [str(root / ".venv" / "bin" / "python"), *pip[1:]]
    _fetch([*own_pip, "install", "setuptools", "wheel", *_TOOLS])
    _fetch([*own_pip, "install", "--no-build-isolation", "-e", str(root)])
    _commit(root)
    return Project("click 7.1.2", root, "click.toml", landed=33, rejected=("src/click/formatting.py",))


def bundled_sample(directory: Path) -> Project:
    """The sample shop, copied below `directory`; needs nothing but Python."""
    root = directory / "shop"
    with resources.as_file(resources.files("orchestrator.demo") / "sample") as sample:
        shutil.copytree(sample, root, ignore=shutil.ignore_patterns("__pycache__"))
    _ignore(root)
    _commit(root)
    return Project("the bundled sample shop", root, "sample.toml", landed=8, rejected=("shop/templates.py",))


def _unpack(archive: Path, root: Path) -> None:
    """Unpack an sdist; its single top directory becomes `root`."""
    with tarfile.open(archive) as tar:
        tar.extractall(root.parent / "sdist", filter="data")
    next((root.parent / "sdist").iterdir()).rename(root)
    (root.parent / "sdist").rmdir()


def _ignore(root: Path) -> None:
    with (root / ".gitignore").open("a", encoding="utf-8") as file:
        file.write(f"\n{_IGNORED}")


def _commit(root: Path) -> None:
    create_repository(root, "The project as published", ("Demo", "demo@localhost"))


def _fetch(words: Sequence[str]) -> None:
    try:
        _run(words)
    except EnvironmentProblem as problem:
        raise IndexUnreachable(str(problem)) from problem


def _run(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise EnvironmentProblem(f"`{' '.join(words[:6])} …` failed: {' '.join(last)}")
