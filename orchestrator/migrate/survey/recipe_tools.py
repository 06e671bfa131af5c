"""The places of the programs that a recipe runs."""

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

_IN_CHECKOUT = (".venv/bin", "venv/bin", "env/bin", "node_modules/.bin")
_OF_THE_SYSTEM = (Path("/"), Path("/usr"), Path("/usr/local"))
_ANYWHERE = frozenset({"sed", "perl", "sh", "bash", "python", "python3", "node", "npx"})


@dataclass(frozen=True)
class RecipeTools:
    """`elsewhere` are directories outside the checkout to bind, in which `found_there` are; `missing` are nowhere.

    `needs` says what to install: see `RecipeTemplate.needs`.
    """

    elsewhere: tuple[str, ...] = ()
    found_there: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    missing: tuple[str, ...] = ()
    needs: Annotated[tuple[str, ...], Field(exclude=True)] = ()

    def render_advice(self) -> Iterator[str]:
        """Yield lines that say how to get what is missing."""
        yield f"{', '.join(self.missing)}: not found. Where the sandbox finds it:"
        packages: dict[str, list[str]] = {"pip": [], "npm": [], "model": []}
        for need in self.needs:
            installer, *words = need.split()
            packages[installer] += words
        pip, npm = packages["pip"], packages["npm"]
        if pip:
            yield f"  python3 -m venv ../codemods && ../codemods/bin/pip install {' '.join(pip)}"
            yield 'and below: read_only = ["../codemods"]'
        if npm:
            yield f"  npm install --no-save {' '.join(npm)}"
        if not pip and not npm:
            yield "  in an environment of the checkout, or in a directory that read_only names"


@dataclass
class _FoundTools:
    elsewhere: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def find_tools(recipe: str, needs: Sequence[str], root: Path, path: str | None = None) -> RecipeTools:
    """Look for the programs of a recipe's steps and sites, in the checkout and on PATH.

    Args:
        recipe: its text, filled or not.
        needs: what its template says it needs.
        root: the checkout.
        path: in place of the environment's PATH.
    """
    found = _FoundTools()
    for program in dict.fromkeys(_list_programs(tomllib.loads(recipe))):
        if program in _ANYWHERE or any((root / place / program).exists() for place in _IN_CHECKOUT):
            continue
        where = shutil.which(program, path=path)
        if where is None:
            found.missing.append(program)
        elif prefix := _find_prefix(Path(where)):
            found.elsewhere.setdefault(prefix, []).append(program)
    there = chain.from_iterable(found.elsewhere.values())
    return RecipeTools(tuple(found.elsewhere), tuple(there), tuple(found.missing), tuple(needs))


def _list_programs(recipe: dict[str, Any]) -> Iterator[str]:
    """Yield the first words of command lines; ast-grep comes with Orchestrate."""
    for table in (*recipe.get("step", ()), *recipe.get("scope", {}).get("site", ())):
        if "run" in table:
            yield table["run"].split()[0]


def _find_prefix(program: Path) -> str:
    """Return the directory to bind so that a program outside the system's own directories can be run.

    Empty for none.
    """
    prefix = program.parent
    if prefix.name == "bin":
        prefix = program.resolve().parent
    if prefix.name == "bin":
        prefix = prefix.parent
    if prefix in _OF_THE_SYSTEM:
        return ""
    return str(prefix)
