#!/usr/bin/env python3
"""Make a git repository of one of the projects in cases.toml, with its test environment and the codemods it needs.

    python examples/prepare.py click work
    orchestrate migrate run examples/recipes/flynt-click.toml --repo work/click/src

Leaves DEST/CASE/src (the repository), DEST/CASE/venv (its test environment) and DEST/tools (the codemods, shared by
all cases). Everything comes from the package index and npm registry that your pip and npm are set up with.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases.toml"
IGNORED = "__pycache__/\n*.pyc\n.pytest_cache/\nnode_modules/\n*.egg-info/\nbuild/\n"
IDENTITY = ("-c", "user.name=Example", "-c", "user.email=example@localhost")


def run(words: Sequence[str | Path], cwd: Path) -> str:
    """Run a command; on failure say which and what it printed, and leave."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, words))}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def environment(place: Path) -> Path:
    """A virtual environment with what old projects need to be built; its Python."""
    python = place / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", place], place.parent)
        run([*pip(python), "install", "setuptools<81", "wheel"], place.parent)
    return python


def pip(python: Path) -> list[str | Path]:
    """The pip of an environment."""
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def tools(place: Path, wanted: dict[str, list[str]]) -> Path:
    """The codemods, installed once."""
    python = environment(place)
    if not (place / ".installed").exists():
        run([*pip(python), "install", *wanted["python"]], place)
        run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place, *wanted["npm"]], place)
        (place / ".installed").touch()
    return python


def from_index(case: dict[str, Any], place: Path, python: Path) -> None:
    """A Python project: its sdist as `src`, its environment as `venv`."""
    options = ("--no-deps", "--no-binary=:all:", "--no-build-isolation")
    run([*pip(python), "download", *options, "-d", place, case["source"]], place)
    with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
        archive.extractall(place / "unpacked", filter="data")
    next((place / "unpacked").iterdir()).rename(place / "src")
    own = environment(place / "venv")
    run([*pip(own), "install", "--no-build-isolation", *case["install"]], place / "src")


def from_npm(case: dict[str, Any], place: Path) -> None:
    """A JavaScript project: its package as `src`, with its test runner in node_modules."""
    run(["npm", "pack", "--silent", case["npm"]], place)
    with tarfile.open(next(place.glob("*.tgz"))) as archive:
        archive.extractall(place, filter="data")
    (place / "package").rename(place / "src")
    options = ("--silent", "--no-fund", "--no-audit", "--no-save", "--ignore-scripts")
    run(["npm", "install", *options, *case["install"]], place / "src")


def main() -> None:
    """Prepare the case that the command line names."""
    cases = tomllib.loads(CASES.read_text())
    wanted = cases.pop("tools")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=sorted(cases))
    parser.add_argument("dest", type=Path)
    given = parser.parse_args()
    place = (given.dest / given.case).absolute()
    if (place / "src").exists():
        sys.exit(f"{place / 'src'} exists already: choose another directory")
    place.mkdir(parents=True, exist_ok=True)
    (given.dest / "tools").mkdir(exist_ok=True)
    python = tools((given.dest / "tools").absolute(), wanted)
    case = cases[given.case]
    if "npm" in case:
        from_npm(case, place)
    else:
        from_index(case, place, python)
    if not (place / "tools").exists():
        (place / "tools").symlink_to("../tools")
    with (place / "src" / ".gitignore").open("a") as file:
        file.write(f"\n{IGNORED}")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*IDENTITY, "commit", "-q", "-m", "As published")):
        run(["git", *words], place / "src")
    recipe = CASES.parent / "recipes" / f"{case['recipe']}.toml"
    print(json.dumps({"case": given.case, "repository": str(place / "src"), "recipe": str(recipe)}))


if __name__ == "__main__":
    main()
