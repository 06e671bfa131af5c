"""Published packages as git repositories: the source of a release, an environment for its tests, a first commit.

And the projects of the demo: a real package from the user's own index, or the bundled sample.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from orchestrator.errors import EnvironmentProblem
from worktrees.repositories.repository import create_repository

_IGNORED = ".venv/\n__pycache__/\n*.pyc\n.pytest_cache/\nnode_modules/\n*.egg-info/\nbuild/\n"
_AUTHOR = ("Demo", "demo@localhost")
_CLICK = "click==7.1.2"
_TOOLS = ("flynt==1.0.6", "pytest<8")
ReportLine = Callable[[str], None]


class IndexUnreachable(EnvironmentProblem):
    """The user's package index or registry could not be asked, or does not have what is needed."""


def create_environment(place: Path) -> Path:
    """Return a virtual environment with what old releases need to be built; its Python.

    Raises:
        IndexUnreachable: the build tools could not be fetched.
    """
    python = place / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(place)])
        install_packages(
            python, "--retries=1", "setuptools<81", "wheel"
        )  # the first to ask: without an index, say so soon
    return python


def install_packages(python: Path, *wanted: str, cwd: Path | None = None) -> None:
    """Install into the environment of this Python, from the user's own index.

    Raises:
        IndexUnreachable: says what pip said.
    """
    _pip(python, ["install", *wanted], cwd)


def download_source(python: Path, release: str, root: Path) -> None:
    """Download the source of a release (`name==version`), and unpack it as `root`, which must not exist yet.

    Raises:
        IndexUnreachable: says what pip said.
    """
    scratch = root.with_name(f"{root.name}-sdist")
    options = ["--no-deps", "--no-binary=:all:", "--no-build-isolation", "-d", str(scratch)]
    _pip(python, ["download", *options, release], None)
    unpack_sdist(next(scratch.glob("*.tar.gz")), root)


def unpack_sdist(archive: Path, root: Path) -> None:
    """Make `root` of the one directory in a gzipped archive. Python has no safe way to do so before 3.11.4.

    Raises:
        EnvironmentProblem: it could not be unpacked.
    """
    root.mkdir()
    _run(["tar", "--extract", "--gzip", "--no-same-owner", "--strip-components=1", "-C", str(root), "-f", str(archive)])


def create_first_commit(root: Path) -> None:
    """Make a repository of a directory, with build products and environments ignored."""
    with (root / ".gitignore").open("a", encoding="utf-8") as file:
        file.write(f"\n{_IGNORED}")
    create_repository(root, "The project as published", _AUTHOR)


def run_index_command(words: Sequence[str], cwd: Path | None = None) -> None:
    """Run a command that asks an index or a registry.

    Raises:
        IndexUnreachable: it failed; says the end of what it printed.
    """
    try:
        _run(words, cwd)
    except EnvironmentProblem as problem:
        raise IndexUnreachable(str(problem)) from problem


def _pip(python: Path, words: Sequence[str], cwd: Path | None) -> None:
    run_index_command([str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *words], cwd)


def _run(words: Sequence[str], cwd: Path | None = None) -> None:
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as problem:
        raise EnvironmentProblem(f"`{words[0]}` is not installed") from problem
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        last = [line for line in lines if line.startswith("ERROR: ")][-3:] or lines[-3:]
        raise EnvironmentProblem(f"`{' '.join(words[:6])} …` failed: {' '.join(last)}")


@dataclass(frozen=True)
class DemoProject:
    """A git repository to demonstrate on, with what is known of the outcome."""

    name: str
    root: Path
    recipe: str
    landed: int
    rejected: tuple[str, ...]


def create_real_project(directory: Path, say: ReportLine) -> DemoProject:
    """Create click 7.1.2 with its tests and a virtual environment, below `directory`.

    Raises:
        IndexUnreachable: it could not be fetched; says what pip said.
    """
    root = directory / "click"
    say(f"fetching {_CLICK} from your package index …")
    download_source(create_environment(directory / "venv"), _CLICK, root)
    say("making a virtual environment with click, pytest and flynt …")
    install_packages(create_environment(root / ".venv"), *_TOOLS, "--no-build-isolation", "-e", str(root))
    create_first_commit(root)
    return DemoProject("click 7.1.2", root, "click.toml", landed=33, rejected=("src/click/formatting.py",))


def create_sample_project(directory: Path) -> DemoProject:
    """Return the sample shop, copied below `directory`; needs nothing but Python."""
    root = directory / "shop"
    with resources.as_file(resources.files("orchestrator.demo") / "sample") as sample:
        shutil.copytree(sample, root, ignore=shutil.ignore_patterns("__pycache__"))
    create_first_commit(root)
    return DemoProject("the bundled sample shop", root, "sample.toml", landed=8, rejected=("shop/templates.py",))
