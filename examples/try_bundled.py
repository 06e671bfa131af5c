#!/usr/bin/env python3
"""Prepare a real project for one of the bundled recipes, have `orchestrate migrate init` write the recipe for it, and
leave out the steps that ask a model or a person.

    python examples/try_bundled.py flynt work
    orchestrate migrate run work/flynt/recipe.toml --repo work/flynt/src

Leaves DEST/NAME/src (the repository, with its test environment in it), DEST/NAME/codemods and DEST/NAME/recipe.toml.
Everything comes from the package index and npm registry that your pip and npm are set up with.
"""

import argparse
import json
import os
import re
import subprocess
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
from orchestrator.migrate.bundled import load_template

PROJECTS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "bundled.toml").read_text())
NPM = ("npm", "install", "--silent", "--no-fund", "--no-audit", "--no-save", "--ignore-scripts")


def prepare(name: str, dest: Path) -> dict[str, str]:
    """Make the repository and the recipe of one bundled recipe's trial; where they are.

    Raises:
        IndexUnreachable: an index or registry could not be asked.
        EnvironmentProblem: there is no `venv` for this Python.
    """
    project, place = PROJECTS[name], dest.absolute() / name
    place.mkdir(parents=True)
    root, codemods = place / "src", place / "codemods"
    packages = {kind: [word for need in _needs(name, kind) for word in need] for kind in ("pip", "npm")}
    python = create_environment(codemods)
    if packages["pip"]:
        install_packages(python, *packages["pip"])
    if "npm" in project:
        run_index_command(["npm", "pack", "--silent", project["npm"]], place)
        unpack_sdist(next(place.glob("*.tgz")), root)
        run_index_command([*NPM, *project["install"], *packages["npm"]], root)
    else:
        download_source(python, project["source"], root)
        own = create_environment(root / ".venv")
        install_packages(own, "--no-build-isolation", *project["install"], cwd=root)
    create_first_commit(root)
    recipe = place / "recipe.toml"
    _init(name, root, recipe, codemods)
    recipe.write_text(_without(recipe.read_text(), project.get("without", ())))
    return {"name": name, "repository": str(root), "recipe": str(recipe)}


def _needs(name: str, kind: str) -> list[list[str]]:
    return [need.split()[1:] for need in load_template(name).needs if need.split()[0] == kind]


def _init(name: str, root: Path, recipe: Path, codemods: Path) -> None:
    """Let the command line write the recipe, with the codemods on PATH as a user would have them."""
    words = ["migrate", "init", str(recipe), "--from", name, "--repo", str(root)]
    path = f"{codemods / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run([sys.executable, "-m", "orchestrator", *words], env=os.environ | {"PATH": path}, check=True)


def _without(recipe: str, steps: list[str]) -> str:
    """The text of a recipe without some steps, and without asking a person after the sample."""
    for step in steps:
        recipe = re.sub(rf'^\[\[step\]\]\nid = "{step}"\n(?:(?!^\[|^# ).*\n)*', "", recipe, flags=re.MULTILINE)
    return re.sub(r'^gate = "human".*\n', "", recipe, flags=re.MULTILINE)


def main() -> None:
    """Prepare the one that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(PROJECTS))
    parser.add_argument("dest", type=Path)
    given = parser.parse_args()
    print(json.dumps(prepare(given.name, given.dest)))


if __name__ == "__main__":
    main()
