#!/usr/bin/env python3
"""Make a git repository of one of the projects in cases.toml, with its test environment and the codemods it needs.

    python examples/prepare.py click work
    orchestrate migrate run examples/recipes/flynt-click.toml --repo work/click/src

Leaves DEST/CASE/src (the repository), DEST/CASE/venv (its test environment) and DEST/tools (the codemods, shared by
all cases). Everything comes from the package index and npm registry that your pip and npm are set up with. To be run
by the Python that Orchestrate is installed for.
"""

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from orchestrator.demo.published_package import (
    create_environment,
    create_first_commit,
    download_source,
    install_packages,
    run_index_command,
    unpack_sdist,
)
from orchestrator.errors import EnvironmentProblem

CASES = Path(__file__).parent / "cases.toml"
NPM = ("npm", "install", "--silent", "--no-fund", "--no-audit")


def prepare(name: str, dest: Path) -> dict[str, str]:
    """Make the repository of a case; where it is, and the recipe for it.

    Raises:
        IndexUnreachable: an index or registry could not be asked.
        EnvironmentProblem: there is no `venv` for this Python.
    """
    cases = tomllib.loads(CASES.read_text())
    case, place = cases[name], dest.absolute() / name
    place.mkdir(parents=True, exist_ok=True)
    _tools(dest.absolute() / "tools", cases["tools"])
    root = place / "src"
    if "npm" in case:
        _from_npm(case, root)
    else:
        python = create_environment(place / "venv")
        download_source(python, case["source"], root)
        install_packages(python, "--no-build-isolation", *case["install"], cwd=root)
        if "after" in case:
            install_packages(create_environment(place / "venv-after"), "--no-build-isolation", *case["after"], cwd=root)
    create_first_commit(root)
    (place / "tools").symlink_to("../tools")
    recipe = CASES.parent / "recipes" / f"{case['recipe']}.toml"
    return {"case": name, "repository": str(root), "recipe": str(recipe)}


def _tools(place: Path, wanted: dict[str, list[str]]) -> None:
    """The codemods, installed once for all cases."""
    if not (place / ".installed").exists():
        install_packages(create_environment(place), *wanted["python"])
        run_index_command([*NPM, "--prefix", str(place), *wanted["npm"]])
        (place / ".installed").touch()


def _from_npm(case: dict[str, Any], root: Path) -> None:
    """A JavaScript package with its test runner in node_modules."""
    run_index_command(["npm", "pack", "--silent", case["npm"]], root.parent)
    unpack_sdist(next(root.parent.glob("*.tgz")), root)
    run_index_command([*NPM, "--no-save", "--ignore-scripts", *case["install"]], root)


def main() -> None:
    """Prepare the case that the command line names."""
    names = sorted(tomllib.loads(CASES.read_text()).keys() - {"tools"})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=names)
    parser.add_argument("dest", type=Path)
    given = parser.parse_args()
    root = given.dest / given.case / "src"
    if root.exists():
        sys.exit(f"{root} exists already: choose another directory")
    try:
        print(json.dumps(prepare(given.case, given.dest)))
    except EnvironmentProblem as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
