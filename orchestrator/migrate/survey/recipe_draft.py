"""Make a recipe for one repository out of a template and what was found there, and find the programs that it runs."""

import json
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from orchestrator.migrate.bundled import RecipeTemplate
from orchestrator.migrate.survey.findings import Findings

_IN_CHECKOUT = (".venv/bin", "venv/bin", "node_modules/.bin")
_OF_THE_SYSTEM = (Path("/"), Path("/usr"), Path("/usr/local"))
_ANYWHERE = frozenset({"sed", "perl", "sh", "bash", "python", "python3", "node", "npx"})


_SCHEMA = """# orchestrate migrate plan FILE shows what it would do, orchestrate migrate run FILE does it. For editors:
# orchestrate migrate schema --out recipe.schema.json, and #:schema ./recipe.schema.json as the first line.
"""


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
            yield 'and below: tools = ["../codemods"]'
        if npm:
            yield f"  npm install --no-save {' '.join(npm)}"
        if not pip and not npm:
            yield "  in an environment of the checkout, or in a directory that tools names"


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
        if (where := shutil.which(program, path=path)) is None:
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
    return "" if prefix in _OF_THE_SYSTEM else str(prefix)


def fill_template(template: RecipeTemplate, findings: Findings, words: Mapping[str, str], tools: RecipeTools) -> str:
    """Return the text of a recipe.

    Args:
        template: what to start from.
        findings: what the repository told.
        words: what the user said: `id`, `goal`, `pattern`.
        tools: where the programs of the recipe are.
    """
    lists = {
        "all": findings.all_files,
        "sources": findings.sources or findings.all_files,
        "tests": findings.tests or findings.all_files,
        "exclude": findings.exclude,
    }
    blocks = {"env": _render_env(findings, tools), "shard": _render_shard(findings), "verify": _render_verify(findings)}
    values = {name: format_toml_list(value) for name, value in lists.items()}
    values |= {name: format_toml_text(value) for name, value in words.items()}
    text = re.sub(r'"@(\w+)@"', lambda match: values[match[1]], template.text)
    text = re.sub(r"^# @(\w+)@$", lambda match: blocks[match[1]], text, flags=re.MULTILINE)
    return text.replace("schema = 1\n", f"{_SCHEMA}schema = 1\n", 1)


def format_toml_list(values: Sequence[str]) -> str:
    """Return a TOML array of texts."""
    return f"[{', '.join(map(format_toml_text, values))}]"


def format_toml_text(value: str) -> str:
    """Return a TOML string: a literal one if that spares escapes."""
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _render_env(findings: Findings, tools: RecipeTools) -> str:
    lines = ["[env]"]
    if findings.environments:
        lines.append(f"# {', '.join(findings.environments)} of the checkout: lent to every workspace, read-only.")
    else:
        lines.append("# There is no .venv, venv or node_modules in the checkout that could be lent to workspaces.")
        if findings.deps:
            lines.append(f"# deps = {format_toml_list(findings.deps)}  # or let the run install them: docs/tiers.md")
    if tools.elsewhere:
        lines.append(f"tools = {format_toml_list(tools.elsewhere)}  # where {', '.join(tools.found_there)} is")
    if tools.missing:
        lines += [f"# {line}" for line in tools.render_advice()]
        if not tools.elsewhere:
            lines.append('# tools = ["../codemods"]')
    return "\n".join(lines)


def _render_shard(findings: Findings) -> str:
    by = ("owner", "directory") if findings.codeowners else ("directory",)
    said = f"owners: {findings.codeowners}" if findings.codeowners else "with a CODEOWNERS file: owner, directory"
    lines = ["[shard]", f"by = {format_toml_list(by)}  # {said}", "max_files = 20"]
    if findings.pairs:
        lines.append(f"# pair = {format_toml_list(findings.pairs)}  # these would land together or not at all")
    return "\n".join(lines)


def _render_verify(findings: Findings) -> str:
    command = findings.command
    if command is None:
        run = 'run = "exit 1"                 # the command of your tests was not found: write it here'
        return f'[verify]\nreport = "auto"\n\n[[verify.check]]\nid = "tests"\n{run}'
    lines = [
        "[verify]",
        f"report = {format_toml_text(command.report)}",
        "",
        "[[verify.check]]",
        'id = "tests"',
        *(f"# {note}" for note in command.notes),
        f"run = {format_toml_text(command.run)}  # found in: {command.source_file}",
    ]
    if "{tests}" in command.run:
        lines.append(f"all = {format_toml_text(command.all)}  # {{tests}} where all are meant")
    return "\n".join([*lines, "timeout_s = 1800"])
